"""The same sweep with asyncio, and a watch that trips the bench when the current is too high."""

import asyncio

import pytest

from pytest_safetyq import AsyncInstrument, EStopLatched

RESISTANCE_OHM = 100.0


@pytest.mark.asyncio
async def test_resistor_follows_ohms_law(async_instrument: AsyncInstrument) -> None:
    smu = async_instrument
    await smu.write(":OUTP ON")
    for voltage_v in (0.5, 1.0, 2.0):
        await smu.write(f":SOUR:VOLT {voltage_v}")
        current_a = float(await smu.query(":MEAS:CURR?"))
        assert current_a == pytest.approx(voltage_v / RESISTANCE_OHM, abs=1e-6)


async def ramp_up(smu: AsyncInstrument) -> None:
    """Raise the voltage until somebody stops it."""
    for step in range(1, 100):
        await smu.write(f":SOUR:VOLT {step / 10}")
        await asyncio.sleep(0.02)


@pytest.mark.asyncio
async def test_watch_trips_the_bench(async_instrument: AsyncInstrument) -> None:
    smu = async_instrument
    await smu.write(":OUTP ON")
    hot = smu.watch(":MEAS:CURR?", every_s=0.01, trip_when=lambda reply: float(reply) > 0.015)
    async with hot as watch:
        with pytest.raises(EStopLatched):
            await ramp_up(smu)
    assert watch.tripped
    assert smu.latched
