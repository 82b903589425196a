"""The profiles that ship."""

import pytest

from pytest_safetyq.bench.config import Step
from pytest_safetyq.bench.profiles import match_identity, profile_names, shipped_profile

NAMES = ["generic-scpi", "keithley-2400", "sim-dmm", "sim-load", "sim-supply"]


def test_the_names() -> None:
    assert profile_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_off_is_read_back_wherever_there_is_something_to_switch_off(name: str) -> None:
    profile = shipped_profile(name)

    assert bool(profile.off) == (profile.confirm is not None) == (name != "sim-dmm")
    if profile.confirm is not None:
        assert profile.confirm.accepts("0\n")
        assert not profile.confirm.accepts("1\n")


def test_the_supplys_two_channels_go_off_together() -> None:
    supply = shipped_profile("sim-supply")

    assert supply.off == (Step(send="OUTP OFF,(@1,2)"),)
    assert supply.confirm is not None
    assert supply.confirm.query == "OUTP? (@1,2)"
    assert supply.confirm.accepts("0,0")
    assert not supply.confirm.accepts("0,1")


@pytest.mark.parametrize(
    ("idn", "name"),
    [
        ("KEITHLEY INSTRUMENTS INC.,MODEL 2400,SIM0001,C32\n", "keithley-2400"),
        ("keithley instruments inc.,model 2410,1,1", "keithley-2400"),
        ("SIM INSTRUMENTS,TWO-CHANNEL SUPPLY,SIM0002,1.0", "sim-supply"),
        ("SIM INSTRUMENTS,MULTIMETER,SIM0003,1.0", "sim-dmm"),
        ("SIM INSTRUMENTS,ELECTRONIC LOAD,SIM0004,1.0", "sim-load"),
        ("ACME,MODEL 1,0,0", None),
        ("", None),
    ],
)
def test_which_profile_fits(idn: str, name: str | None) -> None:
    assert match_identity(idn) == name


def test_the_longest_match_is_the_most_specific() -> None:
    assert (
        match_identity("MODEL 2400 in front of SIM INSTRUMENTS,TWO-CHANNEL SUPPLY") == "sim-supply"
    )


def test_an_unknown_profile_names_the_closest() -> None:
    with pytest.raises(LookupError, match='did you mean "sim-load"'):
        shipped_profile("sim-lod")


def test_a_path_is_not_a_shipped_profile() -> None:
    with pytest.raises(LookupError):
        shipped_profile("../config/../profiles/sim-dmm")
