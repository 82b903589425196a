from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_instruments.model.scpi_errors import (
    DATA_OUT_OF_RANGE,
    DATA_TYPE_ERROR,
    ILLEGAL_PARAMETER_VALUE,
    INVALID_SUFFIX,
    NUMERIC_DATA_ERROR,
    SUFFIX_NOT_ALLOWED,
    ScpiError,
)
from sim_instruments.model.values import Choice, Kind, Number, Switch, parse_number

VOLTAGE = Number(unit="V", minimum=-210, maximum=210, default=0.5, style="+.6E")


@pytest.mark.parametrize(
    ("text", "volts"),
    [
        ("5", 5),
        ("5.0", 5),
        ("5.", 5),
        (".5", 0.5),
        ("+1E1", 10),
        ("1 e -1", 0.1),
        ("20mV", 0.02),
        ("20 MV", 0.02),
        ("0.1kv", 100),
        ("MIN", -210),
        ("maximum", 210),
        ("Def", 0.5),
    ],
)
def test_a_number_is_read_in_every_form(text: str, volts: float) -> None:
    assert VOLTAGE.parse(text) == pytest.approx(volts)


@given(number=st.floats(-210, 210))
def test_what_python_writes_is_read_back(number: float) -> None:
    assert VOLTAGE.parse(repr(number)) == number
    assert VOLTAGE.parse(VOLTAGE.write(number)) == pytest.approx(number, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [
        (VOLTAGE, "210.1", DATA_OUT_OF_RANGE),
        (VOLTAGE, "-1E999", DATA_OUT_OF_RANGE),
        (VOLTAGE, "nan", ILLEGAL_PARAMETER_VALUE),
        (VOLTAGE, "1..2", NUMERIC_DATA_ERROR),
        (VOLTAGE, "'1'", DATA_TYPE_ERROR),
        (VOLTAGE, "1 A", INVALID_SUFFIX),
        (VOLTAGE, "1 XV", INVALID_SUFFIX),
        (VOLTAGE, "1 m", INVALID_SUFFIX),
        (Switch(), "1 V", SUFFIX_NOT_ALLOWED),
        (Switch(), "YES", ILLEGAL_PARAMETER_VALUE),
        (Choice(("VOLTage", "CURRent")), "VOLTA", ILLEGAL_PARAMETER_VALUE),
    ],
)
def test_what_cannot_be_read_is_its_error(kind: Kind, text: str, code: int) -> None:
    with pytest.raises(ScpiError) as caught:
        kind.parse(text)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "on"),
    [("ON", True), ("off", False), ("1", True), ("0", False), ("2", True), ("-1.0", True)],
)
def test_any_number_but_zero_switches_on(text: str, on: bool) -> None:
    assert Switch().parse(text) is on


def test_a_number_is_rounded_before_it_switches() -> None:
    assert Switch().parse("0.4") is False
    assert Switch().parse("0.5") is True


@pytest.mark.parametrize("text", ["VOLT", "voltage", "Voltage"])
def test_a_word_is_kept_in_its_short_form(text: str) -> None:
    assert Choice(("VOLTage", "CURRent")).parse(text) == "VOLT"


def test_a_base_unit_is_only_read_where_there_is_one() -> None:
    assert parse_number("1MA", "A") == 1e-3
    with pytest.raises(ScpiError):
        parse_number("1MA")
