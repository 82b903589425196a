"""`OUTP:PROT:WDOG`: silence switches the outputs off, and only `OUTP:PROT:CLE` lets them on."""

from __future__ import annotations

import pytest
from sim_model_rig import Bench, Build

from sim_instruments.model.description import describe
from sim_instruments.model.instrument import Instrument

OFF, ON = {"1": False}, {"1": True}


@pytest.fixture
def guarded(build: Build) -> Bench:
    """An SMU that is on at 2 V, with a watchdog of 5 s."""
    smu = build(watchdog="true")
    smu.ask("SOUR:VOLT 2;:OUTP ON;:OUTP:PROT:WDOG:DEL 5;:OUTP:PROT:WDOG ON")
    return smu


def outputs(bench: Bench) -> dict[str, bool]:
    return bench.instrument.output()


def test_silence_switches_the_output_off(guarded: Bench) -> None:
    guarded.clock.passes(4.99)
    assert outputs(guarded) == ON
    guarded.clock.passes(0.01)
    assert outputs(guarded) == OFF
    assert guarded.instrument.terminals()["1"].current_a == 0


@pytest.mark.parametrize("message", ["*OPC?", "FOO", ""])
def test_any_message_is_a_sign_of_life(guarded: Bench, message: str) -> None:
    for _ in range(5):
        guarded.clock.passes(4)
        guarded.ask(message)
    assert outputs(guarded) == ON


def test_it_latches_and_the_output_query_does_not_show_it(guarded: Bench) -> None:
    guarded.clock.passes(6)
    assert guarded.numbers("OUTP?;:MEAS:CURR?;:STAT:QUES:COND?") == [1, 0, 2048]
    guarded.ask("OUTP ON")
    assert outputs(guarded) == OFF
    guarded.ask("*RST;:OUTP ON")
    assert outputs(guarded) == OFF


def test_clearing_it_switches_on_what_is_set_to_on(guarded: Bench) -> None:
    guarded.clock.passes(6)
    guarded.ask("OUTP:PROT:CLE")
    assert guarded.numbers("MEAS:CURR?;:STAT:QUES:COND?") == [0.02, 0]
    guarded.clock.passes(6)
    guarded.ask("OUTP OFF;:OUTP:PROT:CLE")
    assert outputs(guarded) == OFF


def test_disabled_it_does_nothing(guarded: Bench) -> None:
    guarded.ask("OUTP:PROT:WDOG 0")
    guarded.clock.passes(1e6)
    assert outputs(guarded) == ON


def test_reset_disables_it_and_restores_its_delay(guarded: Bench) -> None:
    assert guarded.ask("OUTP:PROT:WDOG?;WDOG:DEL?;DEL? MIN;DEL? MAX") == "1;5;1;3600"
    assert guarded.ask("*RST;:OUTP:PROT:WDOG?;WDOG:DEL?") == "0;60"


def test_a_delay_out_of_range_is_refused(guarded: Bench) -> None:
    assert guarded.ask("OUTP:PROT:WDOG:DEL 0;DEL?;:SYST:ERR?") == '5;-222,"Data out of range"'


def test_the_circuit_goes_on_from_the_moment_it_bites(build: Build) -> None:
    smu = build(
        circuit={"capacitance_f": "1", "resistance_ohm": "1000"}, watchdog="true", fall_time_s="1"
    )
    smu.ask("SENS:CURR:PROT 1;:SOUR:VOLT 1;:OUTP ON;:OUTP:PROT:WDOG:DEL 10;:OUTP:PROT:WDOG ON")
    smu.clock.passes(10.25)
    assert smu.instrument.terminals()["1"].voltage_v == pytest.approx(0.75, rel=1e-2)
    smu.clock.passes(1)
    assert smu.instrument.terminals()["1"].voltage_v < 0.1


def test_while_it_holds_the_output_off_settings_do_not_touch_the_fall(guarded: Bench) -> None:
    guarded.instrument.set_trait("fall_time_s", 1)
    guarded.clock.passes(5.25)
    assert guarded.numbers("MEAS:VOLT?") == pytest.approx([1.5])
    guarded.clock.passes(0.25)
    assert guarded.numbers("OUTP OFF;OUTP ON;:MEAS:VOLT?") == pytest.approx([1])
    assert guarded.after(0.25, "MEAS:VOLT?") == pytest.approx([0.5])


def test_clearing_it_ends_the_fall(guarded: Bench) -> None:
    guarded.instrument.set_trait("fall_time_s", 1)
    guarded.clock.passes(5.5)
    assert guarded.numbers("OUTP:PROT:CLE;:MEAS:VOLT?") == [2]


@pytest.mark.parametrize("command", ["OUTP:PROT:WDOG ON", "OUTP:PROT:WDOG:DEL?", "OUTP:PROT:CLE"])
def test_without_the_trait_there_are_no_such_commands(build: Build, command: str) -> None:
    smu = build()
    smu.ask(command)
    assert smu.ask("SYST:ERR?") == '-113,"Undefined header"'


def test_taken_away_it_lets_go(guarded: Bench) -> None:
    guarded.clock.passes(6)
    guarded.instrument.set_trait("watchdog", False)
    assert outputs(guarded) == ON
    assert guarded.ask("OUTP:PROT:WDOG?") is None
    guarded.instrument.set_trait("watchdog", True)
    assert guarded.ask("*CLS;:OUTP:PROT:WDOG?;:SYST:ERR?") == '0;0,"No error"'


def test_it_does_not_take_the_place_of_a_command_that_the_instrument_has() -> None:
    scpi = {"role": "meter", "accepts": [":OUTPut:PROTection:CLEar"]}
    instrument = Instrument(describe({"scpi": scpi}))
    with pytest.raises(ValueError, match=r"':OUTPut:PROTection:CLEar' is described twice"):
        instrument.set_trait("watchdog", True)
    assert not instrument.traits.watchdog
    instrument.execute(b"OUTP:PROT:WDOG ON")
    assert instrument.execute(b"OUTP:PROT:CLE;:SYST:ERR?").reply == '-113,"Undefined header"'
