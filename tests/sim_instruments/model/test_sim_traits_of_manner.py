"""What an instrument does that nobody asked it to do, and what it does not do when asked."""

from __future__ import annotations

import pytest
from sim_model_rig import Build


def test_reset_that_leaves_the_output_on_resets_all_else(build: Build) -> None:
    smu = build(reset_leaves_output_on="true")
    smu.ask("SOUR:VOLT 5;:OUTP ON;*RST")
    assert smu.numbers("OUTP?;:SOUR:VOLT?") == [1, 0]
    smu.ask("OUTP OFF;*RST")
    assert smu.ask("OUTP?") == "0"


@pytest.mark.parametrize("message", ["READ?", "meas?", "MEAS:CURR?", "INIT", ":INIT:IMM"])
def test_a_measurement_switches_the_output_on(build: Build, message: str) -> None:
    smu = build(output_on_at_read="true")
    smu.ask("SOUR:VOLT 2")
    reply = smu.ask(message)
    assert smu.instrument.output() == {"1": True}
    assert reply is None or "+2.000000E-02" in reply


@pytest.mark.parametrize("message", ["FETC?", "OUTP?", "*IDN?", "SOUR:VOLT?", "CONF:VOLT"])
def test_what_begins_no_measurement_leaves_the_output_off(build: Build, message: str) -> None:
    smu = build(output_on_at_read="true")
    smu.ask(message)
    assert smu.instrument.output() == {"1": False}


def test_a_measurement_switches_the_channel_on_that_it_measures(build: Build) -> None:
    supply = build("supply", output_on_at_read="true")
    supply.ask("MEAS:VOLT? (@2)")
    assert supply.instrument.output() == {"1": False, "2": True}


def test_a_meter_has_no_output_to_switch_on(build: Build) -> None:
    dmm = build("dmm", output_on_at_read="true")
    assert dmm.numbers("READ?") == [1.25]
    assert dmm.instrument.output() == {}


def test_without_the_trait_a_measurement_switches_nothing_on(build: Build) -> None:
    smu = build()
    smu.ask("READ?;:INIT")
    assert smu.instrument.output() == {"1": False}


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ("OUTP ON", "OK"),
        ("SOUR:VOLT 1;VOLT?;:OUTP ON", "OK;+1.000000E+00;OK"),
        ("*RST", "OK"),
        ("INIT", "OK"),
        ("OUTP?", "0"),
        ("SOUR:VOLT 500", None),
        ("FOO", None),
    ],
)
def test_settings_that_are_obeyed_are_answered(
    build: Build, message: str, reply: str | None
) -> None:
    assert build(replies_to_settings="OK").ask(message) == reply


def test_a_mute_instrument_does_not_say_ok(build: Build) -> None:
    assert build(replies_to_settings="OK", mute="true").ask("OUTP ON") is None


def test_a_mute_query_does_not_say_ok(build: Build) -> None:
    assert build(replies_to_settings="OK", mute_headers=["OUTP?"]).ask("OUTP?") is None


def test_how_many_clients_it_takes_is_known(build: Build) -> None:
    assert build(clients="1").instrument.client_limit == 1
    assert build().instrument.client_limit is None
