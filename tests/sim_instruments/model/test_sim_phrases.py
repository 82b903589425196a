"""Phrases: what an instrument understands word for word, whatever its language."""

from __future__ import annotations

from typing import Any

import pytest
from sim_model_rig import Bench, Clock

from sim_instruments.model.description import describe
from sim_instruments.model.instrument import Instrument

SETTINGS = {
    "output": {"type": "switch"},
    "voltage": {"type": "number", "min": "0", "max": "30", "default": "5"},
}


def speaking(*phrases: dict[str, Any], **scpi: Any) -> Bench:
    clock = Clock()
    device = {
        "scpi": {"role": "source", "settings": SETTINGS, **scpi},
        "circuits": {"a": {"resistance_ohm": "10"}, "b": {}},
        "phrases": list(phrases),
    }
    return Bench(Instrument(describe(device), clock=clock), clock)


ON = {"q": r"smu([ab])\.on *= *1", "set": {"a": {"output": "ON"}}}
ASK_ON = {"q": r"print\(smua\.on\)", "when": {"a": {"output": "ON"}}, "r": "1.0e+00"}
ASK = {"q": r"print\(smua\.on\)", "r": "0.0e+00"}


def test_a_phrase_changes_what_it_says_and_is_not_answered() -> None:
    smu = speaking(ON)
    assert smu.ask("smua.on = 1") is None
    assert smu.instrument.output() == {"a": True, "b": False}
    assert smu.instrument.terminals()["a"].current_a == 0.5
    assert smu.ask("SYST:ERR?") == '0,"No error"'


def test_of_several_that_match_the_first_whose_condition_holds_is_understood() -> None:
    smu = speaking(ON, ASK_ON, ASK)
    assert smu.ask("print(smua.on)") == "0.0e+00"
    smu.ask("smua.on = 1")
    assert smu.ask("print(smua.on)") == "1.0e+00"


@pytest.mark.parametrize("message", ["SMUA.ON = 1", "smua.on = 10", "x smua.on = 1", "smua.on"])
def test_it_must_match_as_a_whole_and_in_its_case(message: str) -> None:
    smu = speaking(ON)
    assert smu.ask(message) is None
    assert smu.instrument.output() == {"a": False, "b": False}
    assert smu.ask("SYST:ERR?") == '-113,"Undefined header"'


def test_a_group_of_the_phrase_is_a_value_or_part_of_the_reply() -> None:
    supply = speaking(
        {"q": "PV ([0-9.]+)", "set": {"a": {"voltage": r"\1"}, "b": {"voltage": r"\1"}}, "r": "OK"},
        {"q": r"ECHO (\w+)", "r": r"\1: done"},
        {"q": "12 V\\?", "when": {"a": {"voltage": "12"}, "b": {"voltage": "12"}}, "r": "yes"},
    )
    assert supply.ask("PV 12.0") == "OK"
    assert supply.ask("12 V?") == "yes"
    assert supply.ask("ECHO me") == "me: done"


def test_a_value_that_a_setting_does_not_take_changes_nothing_and_is_an_error() -> None:
    supply = speaking(
        {"q": "PV (.+)", "set": {"a": {"output": "ON"}, "b": {"voltage": r"\1"}}, "r": "OK"}
    )
    assert supply.ask("PV 31") is None
    assert supply.instrument.output() == {"a": False, "b": False}
    assert supply.ask("SYST:ERR?") == '-222,"Data out of range"'


def test_a_phrase_goes_before_a_command_and_one_for_all_leaves_no_scpi() -> None:
    laser = speaking({"q": "STA", "r": "STA: 0"}, {"q": ".*", "r": "ERR"})
    assert laser.ask("STA") == "STA: 0"
    assert laser.ask("*OPC?") == "ERR"


def test_phrases_and_commands_stand_in_one_message() -> None:
    supply = speaking({"q": "GO", "set": {"b": {"output": "ON"}}})
    assert supply.ask("GO;*OPC?") == "1"
    assert supply.instrument.output() == {"a": False, "b": True}


def test_a_setting_without_a_header_has_no_command() -> None:
    supply = speaking()
    assert supply.ask("OUTP 1;OUTP?") is None
    assert supply.ask("SYST:ERR?") == '-113,"Undefined header"'


def test_an_emitter_has_an_output_and_drives_nothing() -> None:
    oven = speaking(ON, role="emitter")
    oven.ask("smua.on = 1")
    assert oven.instrument.output() == {"a": True, "b": False}
    assert oven.instrument.terminals()["a"].current_a == 0.0
    with pytest.raises(ValueError, match="an emitter needs the setting 'output'"):
        speaking(role="emitter", settings={})


@pytest.mark.parametrize(
    ("phrase", "problem"),
    [
        ({"q": "("}, r"phrase '\(': not a regular expression"),
        ({"q": "X", "set": {"c": {}}}, r"phrase 'X': no channel 'c' \(a, b\)"),
        ({"q": "X", "when": {"a": {"out": "1"}}}, r"no setting 'out' \(output, voltage\)"),
        ({"q": "X", "set": {"a": {"voltage": "31"}}}, "voltage '31' gives -222"),
        ({"q": "X", "when": {"a": {"output": r"\1"}}}, r"output '\\\\1' gives"),
        ({"q": "X", "set": {"a": {"voltage": r"\1"}}}, r"phrase 'X': '\\\\1' has no such group"),
        ({"q": "X", "r": r"\2"}, r"phrase 'X': '\\\\2' has no such group"),
        ({"q": "X", "reply": "Y"}, "unknown field `reply`"),
    ],
)
def test_a_mistake_in_a_phrase_is_one_line(phrase: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        speaking(phrase)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("auto", "is_on"), [("0", False), ("1", True)])
def test_the_trait_of_switching_on_at_a_reading_obeys_the_setting_for_it(
    auto: str, is_on: bool
) -> None:
    clock = Clock()
    device = {
        "scpi": {
            "role": "source",
            "settings": SETTINGS
            | {"auto_on": {"type": "switch", "header": ":OUTPut:ON:AUTO", "default": "ON"}},
            "readings": {":READ?": ["voltage"]},
        },
        "traits": {"output_on_at_read": "true"},
    }
    smu = Bench(Instrument(describe(device), clock=clock), clock)
    smu.ask(f":OUTP:ON:AUTO {auto};:READ?")
    assert smu.instrument.output() == {"1": is_on}
