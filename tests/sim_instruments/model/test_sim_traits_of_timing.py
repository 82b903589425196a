"""Slow, busy, hasty: what an instrument loses, and when its replies are there."""

from __future__ import annotations

from sim_model_rig import Build

from sim_instruments.model.instrument import Answer

LOST = Answer(None, 0.0, lost=True)


def test_a_message_too_soon_after_the_last_is_lost_without_an_error(build: Build) -> None:
    smu = build(gap_s="0.02")
    smu.ask("SOUR:VOLT 1")
    smu.clock.passes(0.019)
    assert smu.instrument.execute(b"OUTP ON") == LOST
    smu.clock.passes(0.001001)
    assert smu.ask("OUTP?;:SYST:ERR?") == '0;0,"No error"'


def test_a_lost_message_does_not_extend_the_gap(build: Build) -> None:
    smu = build(gap_s="0.02")
    replies = []
    for _ in range(6):
        replies.append(smu.ask("*OPC?"))
        smu.clock.passes(0.011)
    assert replies == ["1", None] * 3


def test_the_units_of_one_message_need_no_gap(build: Build) -> None:
    assert build(gap_s="0.02").ask("OUTP ON;OUTP?") == "1"


def test_after_a_reset_replies_wait(build: Build) -> None:
    smu = build(reset_takes_s="2")
    assert smu.instrument.execute(b"*RST") == Answer(None, 2.0)
    assert smu.instrument.execute(b"*RST;*OPC?") == Answer("1", 2.0)


def test_while_busy_commands_are_taken_unless_the_trait_says_otherwise(build: Build) -> None:
    smu = build(reset_takes_s="2")
    smu.ask("*RST")
    assert smu.ask("OUTP ON;OUTP?") == "1"


def test_mute_while_busy_loses_what_comes_before_the_reset_is_done(build: Build) -> None:
    smu = build(reset_takes_s="2", mute_while_busy="true")
    smu.ask("OUTP ON;*RST")
    smu.clock.passes(1.9)
    assert smu.instrument.execute(b"OUTP ON") == LOST
    smu.clock.passes(0.1)
    assert smu.ask("OUTP?") == "0"


def test_mute_while_busy_loses_an_off_behind_a_slow_query(build: Build) -> None:
    smu = build(takes_s={"READ?": "0.5"}, mute_while_busy="true")
    smu.ask("OUTP ON;:READ?;:READ?")
    smu.clock.passes(0.99)
    assert smu.instrument.execute(b"OUTP OFF").lost
    smu.clock.passes(0.0101)
    assert smu.ask("OUTP OFF;OUTP?") == "0"


def test_it_is_busy_with_one_message_after_the_other(build: Build) -> None:
    smu = build(takes_s={"READ?": "0.5"})
    smu.ask("READ?")
    smu.ask("READ?")
    smu.instrument.set_trait("mute_while_busy", True)
    smu.clock.passes(0.9)
    assert smu.instrument.execute(b"OUTP OFF").lost
    smu.clock.passes(0.1)
    assert not smu.instrument.execute(b"OUTP OFF").lost


def test_a_list_takes_as_long_as_its_units_together(build: Build) -> None:
    smu = build(takes_s={"READ?": "0.5", "*OPC?": "0.25"}, reset_takes_s="2")
    assert smu.instrument.execute(b"*RST;*OPC?;:OUTP?;*OPC?") == Answer("1;0;1", 2.5)


def test_a_unit_that_is_not_reached_takes_no_time(build: Build) -> None:
    smu = build(takes_s={"READ?": "0.5"})
    assert smu.instrument.execute(b"*OPC?;FOO;:READ?") == Answer("1", 0.0)
