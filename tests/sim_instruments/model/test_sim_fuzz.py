"""Whatever arrives, an instrument executes what it understands and never falls over."""

from __future__ import annotations

import time
from typing import get_type_hints

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sim_model_rig import Clock

from sim_instruments import BENCH_YAML
from sim_instruments.model.description import describe
from sim_instruments.model.instrument import Answer, Instrument
from sim_instruments.model.traits import Traits

DEVICES = yaml.load(BENCH_YAML.read_text(), Loader=yaml.BaseLoader)["devices"]
VOCABULARY = """
    OUTP INP ON OFF VOLT CURR SOUR:VOLT SENS:CURR:PROT INST NSEL CH2 (@1:2) (@ READ? MEAS? INIT
    *RST *CLS *OPC? *ESE *ESR? *STB? SYST:ERR? OUTP:PROT:WDOG OUTP:PROT:CLE :DEL MIN MAX
    5 -1E999 1E400 2.5V ? : ; , ' " ( @ * #
"""
WORDS = st.sampled_from(VOCABULARY.split())
MESSAGES = st.one_of(
    st.binary(max_size=80),
    st.text(max_size=40).map(str.encode),
    st.lists(st.one_of(WORDS, st.sampled_from([" ", ";", ":", ","])), max_size=12)
    .map("".join)
    .map(str.encode),
    st.lists(WORDS, max_size=8).map(" ".join).map(str.encode),
)
SWITCHES = [name for name, kind in get_type_hints(Traits).items() if kind is bool]
TRAITS = st.one_of(
    st.tuples(st.sampled_from(SWITCHES), st.booleans()),
    st.tuples(
        st.sampled_from(["gap_s", "reset_takes_s", "fall_time_s"]), st.sampled_from([0, 0.1, 2])
    ),
    st.tuples(st.just("off_state"), st.sampled_from(["zero_volts", "high_impedance"])),
    st.tuples(st.just("replies_to_settings"), st.sampled_from(["", "OK"])),
)
CIRCUITS = st.sampled_from(
    [
        {},
        {"resistance_ohm": "10"},
        {"emf_v": "12", "resistance_ohm": "0.1"},
        {"forward_v": "0.6"},
        {"capacitance_f": "1e-3", "resistance_ohm": "1e4"},
        {"capacitance_f": "1"},
    ]
)


def check(answer: Answer) -> None:
    assert answer.takes_s >= 0
    if answer.reply is not None:
        assert answer.reply.isascii()
        assert answer.reply
        assert "nan" not in answer.reply.lower()
        assert "inf" not in answer.reply.lower()


class AnyUse(RuleBasedStateMachine):
    """Messages, traits, faults of the wire and the time, in any order."""

    @initialize(device=st.sampled_from(sorted(DEVICES)), circuit=CIRCUITS)
    def build(self, device: str, circuit: dict[str, str]) -> None:
        circuits = dict.fromkeys(DEVICES[device]["circuits"], circuit)
        description = describe(DEVICES[device] | {"circuits": circuits})
        self.clock = Clock()
        self.instrument = Instrument(description, clock=self.clock)

    @rule(message=MESSAGES, reply_waiting=st.booleans())
    def execute(self, message: bytes, reply_waiting: bool) -> None:
        check(self.instrument.execute(message, reply_waiting=reply_waiting))

    @rule(trait=TRAITS)
    def set_trait(self, trait: tuple[str, object]) -> None:
        self.instrument.set_trait(*trait)

    @rule(seconds=st.one_of(st.floats(0, 10), st.floats(0, 1e6)))
    def wait(self, seconds: float) -> None:
        self.clock.passes(seconds)

    @rule(event=st.sampled_from(["interrupted", "unterminated", "overrun", "device_clear"]))
    def wire(self, event: str) -> None:
        getattr(self.instrument, event)()

    @invariant()
    def the_state_is_one_that_an_instrument_can_be_in(self) -> None:
        assert self.instrument.status_byte(False) in range(256)
        assert all(isinstance(on, bool) for on in self.instrument.output().values())
        for point in self.instrument.terminals().values():
            assert abs(point.voltage_v) <= 210
            assert abs(point.current_a) < 1e38


TestAnyUse = AnyUse.TestCase
TestAnyUse.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@settings(deadline=None)
@given(message=MESSAGES)
@example(message=b"*ESE 1E999")
@example(message=b"OUTP? (@)")
@example(message=b"*ESE ,")
@example(message=b"OUTP \xb2")
def test_the_next_message_is_answered(message: bytes) -> None:
    instrument = Instrument(describe(DEVICES["supply"]))
    check(instrument.execute(message))
    assert instrument.execute(b"*OPC?").reply == "1"
    registers = instrument.execute(b"*ESR?;*STB?;*ESE?;*SRE?").reply or ""
    assert all(int(register) in range(256) for register in registers.split(";"))


@pytest.mark.parametrize("piece", [b"A:", b"'", b"OUTP ON;", b"\xff"])
def test_ten_megabytes_in_one_line_are_executed_in_seconds(piece: bytes) -> None:
    instrument = Instrument(describe(DEVICES["smu"]))
    began_s = time.perf_counter()
    check(instrument.execute(b"SOUR:VOLT " + piece * (10_000_000 // len(piece))))
    assert time.perf_counter() - began_s < 60
    assert instrument.execute(b"*OPC?").reply == "1"
