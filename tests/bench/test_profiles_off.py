"""Each profile switches its model off, and is the one that fits it."""

from __future__ import annotations

import time

import pytest
from profile_rig import COUNTERPARTS, SWITCH_ON, Lab, ask, switch_on

from pytest_safetyq import LinkLost, SafetyError
from pytest_safetyq.bench.profiles import profile_names, shipped_profile
from pytest_safetyq.bench.supervisor.safe_state import SafeState

NAMES = profile_names()
NO_IDN = ("ipg-yar", "tdk-genesys", "thermotron-3800")
"""Models that don't know ``*IDN?``: a bench file has to name them."""
SAME_IDN = {"keithley-2450-tsp": "keithley-2450", "kepco-bop-passive": "kepco-bop"}
"""Profiles that ``*IDN?`` can't choose, and which one it chooses in their place."""


def test_every_profile_has_a_counterpart_and_nothing_else_has() -> None:
    assert sorted(COUNTERPARTS) == NAMES
    assert sorted([*SWITCH_ON, "sim-dmm"]) == NAMES


@pytest.mark.parametrize("name", SWITCH_ON)
async def test_what_is_on_goes_off_and_reads_back(lab: Lab, name: str) -> None:
    profile = shipped_profile(name)
    async with lab.opened(name, name) as instrument:
        await switch_on(instrument, name)
        assert set(lab.output().values()) == {True}

        report = await SafeState(instrument).enter("proof of the profile", time.monotonic())

        assert report.confirmed
        assert report.attempts == 1
        assert [step.command for step in report.steps] == [
            *(step.send for step in profile.off),
            *(confirm.query for confirm in profile.confirms),
        ]
        assert {step.error for step in report.steps} == {None}
        if name == "kepco-bop":  # which must not be switched off, and drives nothing
            assert await ask(instrument, "MEAS:CURR?") == 0.0
        else:
            assert set(lab.output().values()) == {False}


async def test_a_meter_has_nothing_to_switch_off(lab: Lab) -> None:
    async with lab.opened("sim-dmm", "sim-dmm") as dmm:
        report = await SafeState(dmm).enter("proof of the profile", time.monotonic())
    assert (report.confirmed, report.steps) == (True, ())


@pytest.mark.parametrize("name", sorted({*NAMES} - {*NO_IDN} - {*SAME_IDN}))
async def test_the_identity_chooses_the_profile(lab: Lab, name: str) -> None:
    async with lab.opened(name, None) as instrument:
        assert instrument.model == name


@pytest.mark.parametrize("name", NO_IDN)
async def test_what_knows_no_idn_has_to_be_named(lab: Lab, name: str, impatient: None) -> None:
    with pytest.raises(LinkLost, match=r"no answer to \*IDN\?"):
        async with lab.opened(name, None):
            pass


async def test_a_battery_is_supposed_where_the_identity_cannot_tell(lab: Lab) -> None:
    async with lab.opened("kepco-bop-passive", None) as bop:
        assert bop.model == "kepco-bop"


async def test_the_other_command_set_is_refused_and_says_so(lab: Lab, impatient: None) -> None:
    with pytest.raises(SafetyError, match=r"':OUTP:STAT\?', which .* choose another model"):
        async with lab.opened("keithley-2450-tsp", None):
            pass


@pytest.mark.parametrize("name", NAMES)
async def test_the_profile_of_another_model_is_refused(
    lab: Lab, name: str, impatient: None
) -> None:
    other = "keithley-2400" if name != "keithley-2400" else "rs-hmp"
    with pytest.raises(SafetyError, match=r"correct the model|no answer to \*IDN\?"):
        async with lab.opened(name, other):
            pass
