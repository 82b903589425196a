"""Every trait can be switched while the instrument runs, and a mistake switches nothing."""

from __future__ import annotations

import msgspec
import pytest
from sim_model_rig import Build

from sim_instruments.model.description import describe
from sim_instruments.model.instrument import Instrument
from sim_instruments.model.traits import Traits

OTHER_VALUES: dict[str, object] = {
    "takes_s": {"READ?": 0.5},
    "reset_takes_s": 2.0,
    "mute_while_busy": True,
    "gap_s": 0.02,
    "mute": True,
    "mute_headers": ["OUTP?"],
    "replies_to_settings": "OK",
    "clients": 1,
    "output_stuck_on": True,
    "reset_leaves_output_on": True,
    "output_on_at_read": True,
    "off_state": "zero_volts",
    "fall_time_s": 0.5,
    "watchdog": True,
}


@pytest.mark.parametrize("name", Traits.__struct_fields__)
def test_a_trait_is_switched_and_switched_back(build: Build, name: str) -> None:
    instrument = build().instrument
    ordinary = getattr(instrument.traits, name)
    instrument.set_trait(name, OTHER_VALUES[name])
    assert getattr(instrument.traits, name) == OTHER_VALUES[name] != ordinary
    instrument.set_trait(name, ordinary)
    assert instrument.traits == Traits()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("mutee", True, r"unknown trait 'mutee' \(known: takes_s, "),
        ("mute", "maybe", r"trait 'mute': Expected `bool`"),
        ("gap_s", -1, "trait 'gap_s': gap_s is -1, expected seconds >= 0"),
        ("gap_s", float("nan"), "trait 'gap_s': gap_s is nan"),
        ("fall_time_s", "inf", "fall_time_s is inf, expected"),
        ("clients", 0, "clients is 0, expected a number >= 1"),
        ("takes_s", {"READ?": -1}, r"takes_s of 'READ\?' is -1"),
        ("takes_s", {"FOO?": 1}, r"no command has the header 'FOO\?'"),
        ("mute_headers", ["OUTP"], "'OUTP': it is not a query"),
        ("off_state", "ajar", "trait 'off_state': Invalid enum value 'ajar'"),
        ("replies_to_settings", "OK\n", "replies_to_settings is 'OK.n'"),
        ("replies_to_settings", "µ", "replies_to_settings is 'µ'"),
    ],
)
def test_a_mistake_is_one_line_and_switches_nothing(
    build: Build, name: str, value: object, problem: str
) -> None:
    bench = build(takes_s={"READ?": "0.5"}, mute_headers=["*OPC?"])
    before = bench.instrument.traits
    with pytest.raises(ValueError, match=problem) as caught:
        bench.instrument.set_trait(name, value)
    assert "\n" not in str(caught.value)
    assert bench.instrument.traits is before
    assert bench.instrument.execute(b"READ?").takes_s == 0.5
    assert bench.ask("*OPC?") is None


def test_a_trait_of_a_command_is_taken_back(build: Build) -> None:
    bench = build(takes_s={"READ?": "0.5"}, mute_headers=["*OPC?"])
    bench.instrument.set_trait("takes_s", {"*IDN?": 0.1})
    bench.instrument.set_trait("mute_headers", [])
    answers = [bench.instrument.execute(m).takes_s for m in (b"READ?", b"*IDN?", b"*OPC?")]
    assert answers == [0, 0.1, 0]
    assert bench.ask("*OPC?") == "1"


def test_every_trait_acts_from_the_moment_it_is_switched(build: Build) -> None:
    smu = build(circuit={"emf_v": "12", "resistance_ohm": "100"})
    smu.instrument.set_trait("off_state", "zero_volts")
    assert smu.numbers("MEAS:CURR?") == [-0.105]
    smu.instrument.set_trait("off_state", "high_impedance")
    assert smu.numbers("MEAS:CURR?") == [0]
    smu.instrument.set_trait("output_stuck_on", True)
    assert smu.ask("OUTP ON;OUTP OFF;OUTP?") == "1"
    smu.instrument.set_trait("gap_s", 1)
    assert smu.ask("OUTP?") is None


def test_a_capacitor_decays_under_the_off_state_of_its_time(build: Build) -> None:
    smu = build(circuit={"capacitance_f": "1"})
    smu.ask("SENS:CURR:PROT 1;:SOUR:VOLT 1;:OUTP ON")
    smu.clock.passes(2)
    smu.ask("SENS:CURR:PROT 0.1;:OUTP OFF")
    smu.clock.passes(100)
    smu.instrument.set_trait("off_state", "zero_volts")
    assert smu.after(2, "MEAS:VOLT?") == pytest.approx([0.8])


def test_the_traits_can_be_read_as_data(build: Build) -> None:
    assert msgspec.to_builtins(build(clients="1").instrument.traits)["clients"] == 1


def test_instruments_of_one_description_have_traits_of_their_own() -> None:
    description = describe({"scpi": {"role": "meter"}, "traits": {"gap_s": "0"}})
    first, second = Instrument(description), Instrument(description)
    first.set_trait("mute", True)
    assert second.execute(b"*OPC?").reply == "1"
