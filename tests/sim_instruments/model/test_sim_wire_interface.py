"""What a wire tells an instrument beside its messages, and asks it."""

from __future__ import annotations

import pytest
from sim_model_rig import Build

from sim_instruments.model.instrument import Instrument

QUERY_ERROR, COMMAND_ERROR = 4, 32


@pytest.mark.parametrize(
    ("event", "error", "bit"),
    [
        (Instrument.interrupted, '-410,"Query INTERRUPTED"', QUERY_ERROR),
        (Instrument.unterminated, '-420,"Query UNTERMINATED"', QUERY_ERROR),
        (Instrument.overrun, '-363,"Input buffer overrun"', 8),
    ],
)
def test_a_breach_of_the_message_exchange_is_an_error(
    build: Build, event: object, error: str, bit: int
) -> None:
    smu = build()
    smu.ask("*CLS")
    assert callable(event)
    event(smu.instrument)
    assert smu.ask("*ESR?;:SYST:ERR?;:SYST:ERR?") == f'{bit};{error};0,"No error"'


def test_the_status_byte_says_whether_a_reply_waits_and_an_error(build: Build) -> None:
    instrument = build().instrument
    assert [instrument.status_byte(waiting) for waiting in (False, True, False)] == [0, 16, 0]
    instrument.execute(b"*ESE 32;*SRE 32;FOO")
    assert instrument.status_byte(True) == 4 + 16 + 32 + 64
    assert instrument.status_byte(False) == 4 + 32 + 64


def test_device_clear_keeps_settings_and_errors(build: Build) -> None:
    smu = build()
    smu.ask("SOUR:VOLT 5;:OUTP ON;FOO")
    smu.instrument.execute(b"*STB?", reply_waiting=True)
    smu.instrument.device_clear()
    assert smu.instrument.status_byte(False) == 4
    assert smu.numbers("OUTP?;:SOUR:VOLT?") == [1, 5]


def test_device_clear_does_not_cut_a_reset_short(build: Build) -> None:
    smu = build(reset_takes_s="2", mute_while_busy="true")
    smu.ask("*RST")
    smu.instrument.device_clear()
    assert smu.ask("*OPC?") is None


@pytest.mark.parametrize(
    ("device", "identity"),
    [("smu", "KEITHLEY INSTRUMENTS INC.,MODEL 2400,SIM0001,C32"), ("dmm", "SIM INSTRUMENTS,M")],
)
def test_who_it_is_can_be_asked_without_a_message(build: Build, device: str, identity: str) -> None:
    assert build(device).instrument.identity.startswith(identity)


def test_the_time_of_a_message_may_be_given(build: Build) -> None:
    smu = build(gap_s="1")
    taken = [
        not smu.instrument.execute(b"*OPC?", now_s=100.0 + later_s).lost
        for later_s in (0, 0.5, 1, 1.5, 2)
    ]
    assert taken == [True, False, True, False, True]
    assert smu.instrument.output(now_s=102.0) == {"1": False}
    assert smu.instrument.terminals(now_s=102.0)["1"].voltage_v == 0
