"""The profiles that ship."""

from importlib import resources

import pytest

from pytest_safetyq.bench.config import Step
from pytest_safetyq.bench.profiles import match_identity, profile_names, shipped_profile

NAMES = [
    "bk-9130b",
    "delta-sm",
    "generic-scpi",
    "ipg-yar",
    "keithley-2400",
    "keithley-2450",
    "keithley-2450-tsp",
    "keithley-2600",
    "keithley-2601",
    "kepco-bop",
    "kepco-bop-passive",
    "keysight-b2900",
    "keysight-b2901",
    "keysight-e36300",
    "keysight-n6700",
    "keysight-n6900",
    "rigol-dp800",
    "rs-hmp",
    "rs-ngm",
    "siglent-spd3303",
    "sim-dmm",
    "sim-load",
    "sim-supply",
    "tdk-genesys",
    "thermotron-3800",
    "tti-ld400p",
    "tti-pl",
    "tti-pl-single",
]


def test_the_names() -> None:
    assert profile_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_off_is_read_back_wherever_there_is_something_to_switch_off(name: str) -> None:
    profile = shipped_profile(name)

    assert bool(profile.off) == bool(profile.confirms) == (name != "sim-dmm")
    assert not any(confirm.accepts("") for confirm in profile.confirms)


@pytest.mark.parametrize("name", NAMES)
def test_each_file_says_what_it_is_for_and_where_that_stands(name: str) -> None:
    file = resources.files("pytest_safetyq") / "bench" / "profiles" / f"{name}.yaml"
    lines = file.read_text(encoding="utf-8").splitlines()

    assert lines[0].startswith("# ")
    assert any(line.startswith("# Source: ") for line in lines)


def test_the_supplys_two_channels_go_off_together() -> None:
    supply = shipped_profile("sim-supply")

    assert supply.off == (Step(send="OUTP OFF,(@1,2)"),)
    (confirm,) = supply.confirms
    assert confirm.query == "OUTP? (@1,2)"
    assert confirm.accepts("0,0")
    assert not confirm.accepts("0,1")


@pytest.mark.parametrize(
    ("idn", "name"),
    [
        ("KEITHLEY INSTRUMENTS INC.,MODEL 2400,SIM0001,C32\n", "keithley-2400"),
        ("keithley instruments inc.,model 2410,1,1", "keithley-2400"),
        ("SIM INSTRUMENTS,TWO-CHANNEL SUPPLY,SIM0002,1.0", "sim-supply"),
        ("SIM INSTRUMENTS,MULTIMETER,SIM0003,1.0", "sim-dmm"),
        ("SIM INSTRUMENTS,ELECTRONIC LOAD,SIM0004,1.0", "sim-load"),
        ("Keithley Instruments Inc., Model 2636B, 1, 3.3.0", "keithley-2600"),
        ("Keithley Instruments Inc., Model 2611A, 1, 2.2.6", "keithley-2601"),
        ("KEYSIGHT TECHNOLOGIES,N7976A,1,1", "keysight-n6900"),
        ("Agilent Technologies,N6705B,1,1", "keysight-n6700"),
        ("THURLBY THANDAR, PL303-P, 1, 1.00", "tti-pl-single"),
        ("THURLBY THANDAR, PL303QMD-P, 1, 1.00", "tti-pl"),
        ("THURLBY THANDAR, PL303QMT-P, 1, 1.00", None),
        ("RIGOL TECHNOLOGIES,DP821,1,1", None),
        ("RMN: YLM-10-SF", "ipg-yar"),
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


@pytest.mark.parametrize(
    ("idn", "first"),
    [
        ("KEITHLEY INSTRUMENTS,MODEL 2450,1,1", "keithley-2450"),
        ("KEPCO,BOP 36-12,1,1", "kepco-bop"),
    ],
)
def test_of_two_that_match_alike_the_first_by_name_is_chosen(idn: str, first: str) -> None:
    """The one that is safe, or is refused, where the instrument is the other one's."""
    assert match_identity(idn) == first


def test_an_unknown_profile_names_the_closest() -> None:
    with pytest.raises(LookupError, match='did you mean "sim-load"'):
        shipped_profile("sim-lod")


def test_a_path_is_not_a_shipped_profile() -> None:
    with pytest.raises(LookupError):
        shipped_profile("../config/../profiles/sim-dmm")
