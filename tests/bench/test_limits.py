"""Set-points held against limits."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_safetyq.bench.limits import Limits, UncheckedLimitError
from pytest_safetyq.bench.numeric import parse_number, unit_of
from pytest_safetyq.bench.profiles import shipped_profile
from pytest_safetyq.errors import LimitExceeded

SMU = Limits.from_config(
    {"voltage_v": 20.0, "current_a": (0.0, 1.0)}, shipped_profile("keithley-2400").setpoints
)
GENERIC = Limits.from_config(
    {"voltage_v": 20.0, "current_a": 1.0}, shipped_profile("generic-scpi").setpoints
)


@pytest.mark.parametrize(
    "payload",
    [
        b"VOLT 20",
        b":SOUR:VOLT -20.0",
        b":SOUR:VOLT:LEV:IMM:AMPL 2E1;:SOUR:CURR 1",
        b"VOLT 20000 mV",
        b"VOLT 5,(@1,2)",
        b"VOLT? MAX",
        b"VOLT?",
        b"VOLT:RANG 200",
        b"DISP:TEXT ';VOLT 100'",
        b"OUTP ON",
        b"*RST",
        b"CURR 1000MA",
        b"",
        b"\xff\x00;;#",
    ],
)
def test_what_may_be_sent(payload: bytes) -> None:
    SMU.check(payload)
    SMU.check(payload)


@pytest.mark.parametrize(
    "payload",
    [
        b"VOLT 20.001",
        b"volt -20.001",
        b":SOUR1:VOLT 21",
        b"VOLT 0.021 KV",
        b"VOLT 1,21,(@1,2)",
        b"OUTP OFF;VOLT 21",
        b"SOUR:VOLT 1;CURR 5",
        b"SOUR:CURR 1;VOLT 21",
        b"*CLS;VOLT 21",
        b"*CLS\nVOLT 21",
        b"*CLS\rVOLT 21",
        b"CURR -0.1",
        b"SENS:CURR:PROT 2",
        b"SOUR:LIST:VOLT 1,2,30",
        b"VOLT\x0021",
    ],
)
def test_what_is_outside_is_refused(payload: bytes) -> None:
    for _ in range(2):
        with pytest.raises(LimitExceeded):
            SMU.check(payload)


@pytest.mark.parametrize(
    "value",
    [
        "MAX",
        "MAXimum",
        "MIN",
        "MINimum",
        "UP",
        "DOWN",
        "DEF",
        "INF",
        "NAN",
        "NINF",
        "",
        "#H10",
        "1E999",
        "1_0",
        "5 A",
        "5 VV",
        "(1+1)",
        "'5'",
        "5 5",
        "\uff11",
        "5,",
        "?",
        "(@1)",
    ],
)
def test_what_cannot_be_known_is_refused(value: str) -> None:
    with pytest.raises(LimitExceeded, match="not a number that can be checked"):
        SMU.check(f"VOLT {value}".encode())


def test_the_message_is_one_line_with_everything_in_it() -> None:
    with pytest.raises(LimitExceeded) as caught:
        SMU.check(b"*CLS;:SOUR:VOLT 25000 mV\n")

    assert str(caught.value) == (
        '":SOUR:VOLT 25000 mV": 25 V is not allowed, limits.voltage_v allows -20 to 20 V; '
        "nothing was sent"
    )


def test_the_message_of_a_value_that_cannot_be_known() -> None:
    with pytest.raises(LimitExceeded) as caught:
        SMU.check(b"CURR\tMAX")

    assert str(caught.value) == (
        '"CURR MAX": "MAX" is not a number that can be checked, and limits.current_a allows '
        "0 to 1 A; nothing was sent"
    )


def test_a_long_command_is_cut_in_the_message() -> None:
    with pytest.raises(LimitExceeded) as caught:
        SMU.check(b"SOUR:LIST:VOLT " + b"1," * 500 + b"99")

    assert len(str(caught.value)) < 200


def test_a_position_says_which_parameter_counts() -> None:
    GENERIC.check(b"APPL 15,0.5")
    GENERIC.check(b"APPL 15")
    with pytest.raises(LimitExceeded, match="current_a"):
        GENERIC.check(b"APPL 15,5")
    with pytest.raises(LimitExceeded, match="voltage_v"):
        GENERIC.check(b"APPL CH1,5,1")


def test_every_channel_of_a_generic_instrument_is_held() -> None:
    with pytest.raises(LimitExceeded):
        GENERIC.check(b"SOUR3:VOLT 21")


def test_without_limits_everything_passes() -> None:
    limits = Limits.from_config({}, {"voltage_v": ("VOLTage",)})

    limits.check(b"VOLT 1E9")
    assert not limits
    assert SMU


@pytest.mark.parametrize("setpoints", [{}, {"power_w": ()}])
def test_a_limit_that_checks_nothing_is_an_error(setpoints: dict[str, tuple[str, ...]]) -> None:
    with pytest.raises(UncheckedLimitError) as caught:
        Limits.from_config({"power_w": 5.0}, setpoints, profile="sim-dmm")

    assert str(caught.value) == (
        'limits.power_w: the profile "sim-dmm" does not say which commands set it'
    )


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["", "V", " mV", " uV"]))
def test_a_value_passes_exactly_if_it_is_within(number: float, suffix: str) -> None:
    value = parse_number(f"{number!r}{suffix}", "V")
    assert value is not None
    payload = f"VOLT {number!r}{suffix}".encode()
    if -20 <= value <= 20:
        SMU.check(payload)
    else:
        with pytest.raises(LimitExceeded):
            SMU.check(payload)


@given(st.binary(max_size=400))
def test_any_payload_is_either_sent_or_refused(payload: bytes) -> None:
    with contextlib.suppress(LimitExceeded):
        SMU.check(payload)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("5", "V", 5),
        ("+.5", "V", 0.5),
        ("-5.", "V", -5),
        ("1 E 3", "V", 1000),
        ("5V", "V", 5),
        ("5 kv", "V", 5000),
        ("5MA", "A", 0.005),
        ("5A", "A", 5),
        ("5MAA", "A", 5e6),
        ("5UA", "A", 5e-6),
        ("5AA", "A", 5e-18),
        ("5MHZ", "HZ", 5e6),
        ("5 MOHM", "OHM", 5e6),
        ("5EXV", "V", 5e18),
        ("5E3V", "V", 5000),
        ("5A", "V", None),
        ("5V", "", None),
        ("5M", "V", None),
        ("5QV", "V", None),
        ("MAX", "V", None),
        ("1E400", "V", None),
        ("1E308 KV", "V", None),
    ],
)
def test_numbers_with_units(text: str, unit: str, value: float | None) -> None:
    parsed = parse_number(text, unit)

    if value is None:
        assert parsed is None
    else:
        assert parsed is not None
        assert math.isclose(parsed, value)


def test_the_unit_of_a_limit_key() -> None:
    keys = ("voltage_v", "load_resistance_ohm", "speed_rpm")

    assert [unit_of(key) for key in keys] == ["V", "OHM", ""]
