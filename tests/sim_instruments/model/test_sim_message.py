from __future__ import annotations

import pytest

from sim_instruments.model.message import decode, split_unit, split_units
from sim_instruments.model.scpi_errors import (
    INVALID_CHARACTER,
    INVALID_EXPRESSION,
    INVALID_STRING_DATA,
    MISSING_PARAMETER,
    ScpiError,
)


def test_units_end_at_semicolons_and_lose_their_white_space() -> None:
    assert split_units(" OUTP ON ;; VOLT 5; ") == ["OUTP ON", "VOLT 5"]


def test_a_separator_inside_a_string_or_an_expression_separates_nothing() -> None:
    assert split_units("DISP 'a;b';OUTP OFF,(@1;2)") == ["DISP 'a;b'", "OUTP OFF,(@1;2)"]
    assert split_unit('outp off, "a,b" ,(@1,2)') == ("OUTP", ["off", '"a,b"', "(@1,2)"])


def test_control_characters_are_white_space() -> None:
    assert decode(b"\0OUTP\tOFF\r") == "OUTP OFF"


@pytest.mark.parametrize("message", [b"OUTP \xff", "OUTP é".encode()])
def test_bytes_beyond_ascii_are_invalid_characters(message: bytes) -> None:
    with pytest.raises(ScpiError) as caught:
        decode(message)
    assert caught.value.code == INVALID_CHARACTER


@pytest.mark.parametrize(
    ("unit", "code"),
    [
        ("DISP 'a", INVALID_STRING_DATA),
        ('DISP "a', INVALID_STRING_DATA),
        ("OUTP OFF,(@1", INVALID_EXPRESSION),
        ("VOLT 1,", MISSING_PARAMETER),
        ("VOLT ,1", MISSING_PARAMETER),
    ],
)
def test_parameters_that_do_not_end_or_are_missing_are_errors(unit: str, code: int) -> None:
    with pytest.raises(ScpiError) as caught:
        split_unit(unit)
    assert caught.value.code == code
