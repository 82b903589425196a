"""Profiles over the native links: what a link asks by itself keeps gap and terminators too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from profile_rig import COUNTERPARTS, switch_on

from pytest_safetyq.bench.profiles import shipped_profile
from pytest_safetyq.bench.supervisor.opening import open_instrument
from pytest_safetyq.bench.supervisor.safe_state import SafeState
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from sim_instruments.sim_bench import SimBench

NAMES = ["ipg-yar", "keithley-2600", "siglent-spd3303", "tdk-genesys", "thermotron-3800"]
WIRES = ["socket", "serial"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimBench]:
    files = [COUNTERPARTS[name].file for name in NAMES]
    with SimBench(*files, wires=WIRES, directory=tmp_path_factory.mktemp("served")) as bench:
        yield bench


async def until_on(served: SimBench, name: str) -> None:
    for _ in range(1000):
        if set(served.control.state(name).output.values()) == {True}:
            return
        await asyncio.sleep(0.005)
    pytest.fail(f"{name} did not go on")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", NAMES)
async def test_it_opens_and_goes_off_over_a_socket_and_a_serial_line(
    served: SimBench, name: str, wire: str
) -> None:
    spec = InstrumentSpec(
        name="dut",
        resource=served.resource_name(name, wire),
        library="@py",
        model=name,
        profile=shipped_profile(name),
    )
    instrument = await open_instrument(spec)
    try:
        await switch_on(instrument, name)
        await until_on(served, name)  # a write that has returned may still be on its way
        report = await SafeState(instrument).enter("proof of the profile", time.monotonic())
        assert (report.confirmed, report.attempts) == (True, 1)
        assert set(served.control.state(name).output.values()) == {False}
    finally:
        await instrument.close()
    assert not [entry for entry in served.witness() if entry.lost]


def test_all_counterparts_have_addresses_of_their_own() -> None:
    addresses = [counterpart.resource for counterpart in COUNTERPARTS.values()]
    assert len(set(addresses)) == len(addresses)
