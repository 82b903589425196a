from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pyvisa.resources import MessageBasedResource

from sim_instruments import BENCH_YAML
from sim_instruments.framing import MAX_MESSAGE_BYTES
from sim_instruments.model.description import describe
from sim_instruments.model.instrument import Instrument
from sim_instruments.port import Port, Terminators
from sim_instruments.shared import SharedInstrument

LOAD = "GPIB0::8::INSTR"
DESCRIPTIONS = {
    name: describe(device)
    for name, device in yaml.load(BENCH_YAML.read_text(), Loader=yaml.BaseLoader)["devices"].items()
}


@pytest.mark.parametrize(
    "off", ["OUTP OFF", "OUTP 0", "OUTPut:STATe OFF", ":outp:stat 0", "OUTP1 off", "OUTP\t0.0"]
)
def test_every_spelling_of_off_switches_off(smu: MessageBasedResource, off: str) -> None:
    smu.write("OUTP ON")
    assert smu.query("OUTP?") == "1"
    smu.write(off)
    assert smu.query(":OUTPut:STATe?") == "0"


@pytest.mark.parametrize("on", ["OUTP ON", "OUTP 1", "outp 2", ":OUTPUT1:STAT -1"])
def test_every_spelling_of_on_switches_on(smu: MessageBasedResource, on: str) -> None:
    smu.write(on)
    assert smu.query("OUTP?") == "1"


@pytest.mark.parametrize("off", ["INP 0", "INP OFF", "INPut:STATe off", ":inp:stat 0"])
def test_the_loads_off_is_its_input(connect: Callable[..., MessageBasedResource], off: str) -> None:
    load = connect(LOAD)
    load.write("INP ON")
    assert load.query("INP?") == "1"
    load.write(off)
    assert load.query("INP?") == "0"


def test_replies_of_one_message_come_as_one_reply(smu: MessageBasedResource) -> None:
    assert smu.query(":SOUR:VOLT 5;VOLT?;:OUTP?;*OPC?") == "+5.000000E+00;0;1"


def test_a_header_is_relative_to_the_one_before(smu: MessageBasedResource) -> None:
    smu.write(":SOUR:FUNC CURR;VOLT 3;*CLS;CURR 0.01")
    assert smu.query(":SOUR:FUNC?;VOLT?;CURR?") == "CURR;+3.000000E+00;+1.000000E-02"
    assert smu.query("SYST:ERR?") == '0,"No error"'


def test_a_leading_colon_starts_at_the_root_again(smu: MessageBasedResource) -> None:
    smu.write(":SOUR:VOLT 3;OUTP ON")
    assert smu.query("SYST:ERR?;:OUTP?") == '-113,"Undefined header";0'
    smu.write(":SOUR:VOLT 3;:OUTP ON")
    assert smu.query("SYST:ERR?;:OUTP?") == '0,"No error";1'


def test_units_and_limits_are_understood(smu: MessageBasedResource) -> None:
    smu.write(":SOUR:VOLT 20 mV")
    assert smu.query(":SOUR:VOLT?") == "+2.000000E-02"
    smu.write(":SOUR:VOLT MAX;CURR MIN")
    assert smu.query(":SOUR:VOLT?;CURR?;VOLT? DEF") == "+2.100000E+02;-1.050000E+00;+0.000000E+00"


def test_a_message_may_come_in_chunks_and_two_in_one(smu: MessageBasedResource) -> None:
    smu.write_raw(b"OU")
    smu.write_raw(b"TP ON")
    smu.write_raw(b"\nOUTP?\n*OPC?\n")
    assert (smu.read(), smu.read()) == ("1", "1")


def test_carriage_returns_are_white_space(smu: MessageBasedResource) -> None:
    smu.write_raw(b"OUTP ON\r\nOUTP?\r\n")
    assert smu.read() == "1"


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (b"VOLTA 5\n", '-113,"Undefined header"'),
        (b"OUTP2 ON\n", '-114,"Header suffix out of range"'),
        (b"OUTP\n", '-109,"Missing parameter"'),
        (b"OUTP ON,1\n", '-108,"Parameter not allowed"'),
        (b"*RST 1\n", '-108,"Parameter not allowed"'),
        (b"OUTP YES\n", '-224,"Illegal parameter value"'),
        (b"OUTP? MAX\n", '-224,"Illegal parameter value"'),
        (b"SOUR:VOLT 500\n", '-222,"Data out of range"'),
        (b"*ESE 256\n", '-222,"Data out of range"'),
        (b"OUTP \xff\n", '-101,"Invalid character"'),
        (b"x" * (MAX_MESSAGE_BYTES + 1) + b"\n", '-363,"Input buffer overrun"'),
    ],
)
def test_a_mistake_is_in_the_error_queue(
    smu: MessageBasedResource, message: bytes, error: str
) -> None:
    smu.write_raw(message)
    assert smu.query("SYST:ERR?") == error
    assert smu.query("SYSTem:ERRor:NEXT?") == '0,"No error"'


def test_a_value_out_of_range_changes_nothing(smu: MessageBasedResource) -> None:
    smu.write("SOUR:VOLT 5")
    smu.write("SOUR:VOLT -210.5")
    assert smu.query("SOUR:VOLT?") == "+5.000000E+00"


def test_a_command_error_ends_the_message_and_an_execution_error_does_not(
    smu: MessageBasedResource,
) -> None:
    smu.write("SOUR:VOLT 500;:OUTP ON")
    assert smu.query("OUTP?") == "1"
    smu.write("NONSENSE;:OUTP OFF")
    assert smu.query("OUTP?") == "1"


def test_errors_are_queued_in_order_and_cleared(smu: MessageBasedResource) -> None:
    smu.write("FOO")
    smu.write("OUTP")
    assert smu.query("SYST:ERR?") == '-113,"Undefined header"'
    smu.write("*CLS")
    assert smu.query("SYST:ERR?") == '0,"No error"'


def test_a_full_error_queue_says_so(smu: MessageBasedResource) -> None:
    for _ in range(12):
        smu.write("FOO")
    errors = [smu.query("SYST:ERR?") for _ in range(11)]
    assert errors[8:] == ['-113,"Undefined header"', '-350,"Queue overflow"', '0,"No error"']


def test_the_event_register_tells_the_kind_of_error_once(smu: MessageBasedResource) -> None:
    assert smu.query("*ESR?") == "128"  # power on
    smu.write("FOO")
    smu.write("SOUR:VOLT 500")
    smu.write("*OPC")
    assert smu.query("*ESR?") == str(32 + 16 + 1)
    assert smu.query("*ESR?") == "0"


def test_the_status_byte_summarises(smu: MessageBasedResource) -> None:
    smu.write("*CLS;*ESE 32;*SRE 32")
    assert smu.query("*ESE?;*SRE?;*STB?") == "32;32;0"
    smu.write("FOO")
    assert smu.query("*STB?") == str(4 + 32 + 64)
    smu.write("*IDN?")
    smu.write("*STB?")
    smu.read()
    assert smu.read() == str(4 + 16 + 32 + 64)


def test_reset_switches_off_and_restores_defaults_and_keeps_errors(
    smu: MessageBasedResource,
) -> None:
    smu.write("SOUR:VOLT 5;FUNC CURR;:SENS:CURR:PROT 1;:OUTP ON;:FOO")
    smu.write("*RST")
    assert smu.query("OUTP?;:SOUR:VOLT?;FUNC?;:SENS:CURR:PROT?") == (
        "0;+0.000000E+00;VOLT;+1.050000E-01"
    )
    assert smu.query("SYST:ERR?") == '-113,"Undefined header"'


def test_commands_without_an_effect_are_accepted(smu: MessageBasedResource) -> None:
    assert smu.query("*WAI;INIT;:CONF:VOLT;:ABOR;*TST?;:SYST:ERR?") == '0;0,"No error"'


@given(
    name=st.sampled_from(sorted(DESCRIPTIONS)),
    message=st.one_of(
        st.binary(max_size=60),
        st.text("OUTPSVLMEAINRQ?*:;,.@()0123456789 EeVA-+'\"", max_size=40).map(str.encode),
        st.tuples(
            st.sampled_from(["OUTP", "VOLT", "INST", "INP", "*ESE", "SOUR:CURR", "MEAS:VOLT?"]),
            st.text("0123456789.,()@:EVMAXIN-+ ", max_size=20),
        ).map(lambda parts: " ".join(parts).encode()),
    ),
)
@example(name="smu", message=b"*ESE 1E999")
@example(name="supply", message=b"OUTP? (@)")
def test_no_message_raises_and_the_next_one_is_answered(name: str, message: bytes) -> None:
    a_second_later = itertools.count(1.0).__next__
    instrument = Instrument(DESCRIPTIONS[name], clock=a_second_later)
    port = Port(SharedInstrument(instrument, name, clock=a_second_later), Terminators())
    port.write(message + b"\n*OPC?\n")
    replies = list(iter(port.take, None))
    assert replies[-1].payload == b"1\n"
