"""What each profile says that `generic-scpi`, or a profile without it, would get wrong."""

from __future__ import annotations

import asyncio
import time

import pytest
from profile_rig import Lab, ask, switch_on

from pytest_safetyq import Priority, SafetyError
from pytest_safetyq.bench.config import Confirm, Step
from pytest_safetyq.bench.profiles import shipped_profile
from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.safe_state import SafeState

GENERIC = "generic-scpi"


async def estop(instrument: OwnedInstrument) -> EStopReport:
    return await SafeState(instrument).enter("test", time.monotonic())


@pytest.mark.parametrize(
    "name",
    [
        "bk-9130b",
        "delta-sm",
        "ipg-yar",
        "keithley-2450-tsp",
        "keithley-2600",
        "keithley-2601",
        "rs-hmp",
        "rs-ngm",
        "siglent-spd3303",
        "tdk-genesys",
        "thermotron-3800",
        "tti-ld400p",
        "tti-pl",
        "tti-pl-single",
    ],
)
async def test_generic_scpi_is_refused_where_off_could_not_be_read_back(
    lab: Lab, name: str, impatient: None
) -> None:
    with pytest.raises(SafetyError, match=r"'OUTP\?', which .*|no answer to \*IDN\?"):
        async with lab.opened(name, GENERIC):
            pass


@pytest.mark.parametrize(
    "name", ["keysight-b2900", "keysight-e36300", "keysight-n6700", "rigol-dp800"]
)
async def test_generic_scpi_confirms_one_channel_and_leaves_the_others_on(
    lab: Lab, name: str
) -> None:
    async with lab.opened(name, GENERIC) as instrument:
        await switch_on(instrument, name)
        assert (await estop(instrument)).confirmed
        first, *others = lab.output().values()
    assert not first
    assert set(others) == {True}


@pytest.mark.parametrize(("model", "is_on"), [(GENERIC, True), ("keysight-b2901", False)])
async def test_a_queued_measurement_switches_on_again_unless_auto_is_off(
    lab: Lab, model: str, is_on: bool
) -> None:
    async with lab.opened("keysight-b2901", model) as smu:
        await switch_on(smu, "keysight-b2901")
        assert (await estop(smu)).confirmed
        await ask(smu, "READ?")
    assert lab.output() == {"1": is_on}


@pytest.mark.parametrize(("model", "shorted"), [("kepco-bop-passive", True), ("kepco-bop", False)])
async def test_off_shorts_a_battery_where_it_means_zero_volts(
    lab: Lab, model: str, shorted: bool
) -> None:
    async with lab.opened("kepco-bop", model) as bop:
        await switch_on(bop, "kepco-bop")
        assert (await estop(bop)).confirmed
        assert (abs(await ask(bop, "MEAS:CURR?")) > 10.0) is shorted


@pytest.mark.parametrize("name", ["keysight-n6700", "keysight-n6900"])
async def test_without_the_settle_time_off_is_confirmed_while_the_voltage_stands(
    lab: Lab, name: str
) -> None:
    async with lab.opened(name, name, settle_s=0.0) as supply:
        await switch_on(supply, name)
        assert (await estop(supply)).confirmed
        assert await ask(supply, "MEAS:VOLT?") > 0.1
    async with lab.opened(name, name) as supply:
        await switch_on(supply, name)
        assert (await estop(supply)).confirmed
        assert await ask(supply, "MEAS:VOLT?") == 0.0


async def test_a_watchdog_that_has_struck_is_confirmed_off_only_by_the_off_command(
    lab: Lab,
) -> None:
    async with lab.opened("keysight-n6900", "keysight-n6900", settle_s=0.0) as supply:
        for command in (b"OUTP:PROT:WDOG:DEL 1", b"OUTP ON", b"OUTP:PROT:WDOG ON"):
            await supply.submit("arm", command, Priority.CONTROL)
        await asyncio.sleep(1.1)
        assert await ask(supply, "OUTP?") == 1.0
        assert lab.output() == {"1": False}
        assert (await estop(supply)).confirmed


@pytest.mark.parametrize(
    ("name", "edit"),
    [("siglent-spd3303", ("gap_s: 0.01", "gap_s: 2")), ("thermotron-3800", ("1.0}", "2}"))],
)
async def test_without_the_gap_what_follows_is_lost(
    lab: Lab, name: str, edit: tuple[str, str], impatient: None
) -> None:
    with pytest.raises(SafetyError, match="doesn't answer"):
        async with lab.opened(name, name, edit=edit, gap_s=0.0, timeout_s=0.3):
            pass


@pytest.mark.parametrize("name", ["ipg-yar", "tdk-genesys"])
async def test_a_reply_of_a_setting_that_is_not_read_is_taken_for_the_confirmation(
    lab: Lab, name: str
) -> None:
    (step,) = shipped_profile(name).off
    async with lab.opened(name, name, off=(Step(send=step.send),), attempts=1) as instrument:
        await switch_on(instrument, name)
        report = await estop(instrument)
    assert not report.confirmed
    assert report.steps[-1].reply == ("EMOFF" if name == "ipg-yar" else "OK")


async def test_a_remote_shutdown_of_zero_is_on(lab: Lab) -> None:
    wrong = Confirm(query="SO:FU:RSD?", accept=("0",))
    async with lab.opened("delta-sm", "delta-sm", confirm=wrong, attempts=1) as supply:
        await switch_on(supply, "delta-sm")
        assert not (await estop(supply)).confirmed
    assert lab.output() == {"1": False}


async def test_without_the_mask_a_back_reflection_keeps_off_from_being_confirmed(lab: Lab) -> None:
    whole = Confirm(query="STA", prefix="STA:", accept=("0",))
    async with lab.opened("ipg-yar", "ipg-yar", confirm=whole, attempts=1) as laser:
        await switch_on(laser, "ipg-yar")
        assert not (await estop(laser)).confirmed
    assert lab.output() == {"1": False}


async def test_a_step_without_its_selection_switches_the_selected_channel_only(lab: Lab) -> None:
    off = (Step(send="SOUR:CHAN:OUTP:STAT 0"),)
    async with lab.opened("bk-9130b", "bk-9130b", off=off, attempts=1) as supply:
        await switch_on(supply, "bk-9130b")
        report = await estop(supply)
    assert not report.confirmed
    assert [step.reply for step in report.steps] == [None, "0", "1", "1"]
    assert list(lab.output().values()) == [False, True, True]
