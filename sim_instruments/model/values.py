"""The kinds of value a setting can hold: how each is read and how it is answered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from sim_instruments.model.mnemonics import short_form, spellings
from sim_instruments.model.scpi_errors import (
    DATA_OUT_OF_RANGE,
    DATA_TYPE_ERROR,
    ILLEGAL_PARAMETER_VALUE,
    INVALID_SUFFIX,
    NUMERIC_DATA_ERROR,
    SUFFIX_NOT_ALLOWED,
    ScpiError,
)

Value = bool | float | str

INFINITY = 9.9e37
"""What stands for infinity in a reply (SCPI-99 volume 1, 7.2.1.4), and for a limit not given."""
NOT_A_NUMBER = 9.91e37
"""What a reading without a meaning is answered as (SCPI-99 volume 1, 7.2.1.5)."""

_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?: *E *[+-]?\d+)?) *([A-Z]*)")
_MULTIPLIER = {"": 1.0, "N": 1e-9, "U": 1e-6, "M": 1e-3, "K": 1e3}


class Kind(Protocol):
    """What a setting holds."""

    def parse(self, text: str) -> Value:
        """Read one parameter, or raise the `ScpiError` that the instrument reports."""

    def write(self, value: Value) -> str:
        """Write a value as the query answers it."""

    def limit(self, word: str) -> Value | None:
        """Give what `MIN`, `MAX` or `DEF` stands for, `None` for another word."""


def parse_number(text: str, unit: str = "") -> float:
    """Read a decimal number in any of its forms (NRf; IEEE 488.2, 7.7.2).

    Args:
        text: such as `5`, `5.0`, `1E1` or, with a unit, `20 mV`.
        unit: the base unit accepted as suffix (`V`); with `N`, `U`, `M` or `K` before it
            (IEEE 488.2, 7.7.3). None is accepted when it is empty.

    Raises:
        ScpiError: -104, -120, -131, -138 or -224.
    """
    found = _NUMBER.fullmatch(text.upper())
    if found is None:
        raise ScpiError(_not_a_number(text))
    digits, suffix = found.groups()
    number = float(digits.replace(" ", ""))
    if not suffix:
        return number
    if not unit:
        raise ScpiError(SUFFIX_NOT_ALLOWED)
    multiplier = _MULTIPLIER.get(suffix.removesuffix(unit))
    if multiplier is None or not suffix.endswith(unit):
        raise ScpiError(INVALID_SUFFIX)
    return number * multiplier


def _not_a_number(text: str) -> int:
    if text[0].isalpha():
        return ILLEGAL_PARAMETER_VALUE
    return NUMERIC_DATA_ERROR if text[0] in "+-.0123456789" else DATA_TYPE_ERROR


@dataclass(frozen=True, slots=True)
class Switch:
    """`ON` or `OFF` (SCPI-99 volume 1, 7.3): a number is rounded, and all but 0 is ON."""

    def parse(self, text: str) -> bool:
        """Read `ON`, `OFF` or a number."""
        word = text.upper()
        if word in ("ON", "OFF"):
            return word == "ON"
        return abs(parse_number(text)) >= 0.5

    def write(self, value: Value) -> str:
        """Answer `1` or `0`."""
        return "1" if value else "0"

    def limit(self, word: str) -> None:
        """A switch has neither a smallest nor a largest value."""


@dataclass(frozen=True, slots=True)
class Number:
    """A quantity between two limits.

    Attributes:
        unit: base unit that may follow the number (`V`), empty for none.
        minimum: smallest accepted value, in that unit.
        maximum: largest accepted value, in that unit.
        default: value after `*RST`, in that unit.
        style: Python's format specification of a reply (`+.6E`).
    """

    unit: str
    minimum: float
    maximum: float
    default: float
    style: str

    def parse(self, text: str) -> float:
        """Read a number or `MIN`, `MAX`, `DEF` (SCPI-99 volume 1, 7.2.1)."""
        limit = self.limit(text)
        if limit is not None:
            return limit
        number = parse_number(text, self.unit)
        if not self.minimum <= number <= self.maximum:
            raise ScpiError(DATA_OUT_OF_RANGE)
        return number

    def write(self, value: Value) -> str:
        """Answer in the instrument's number format."""
        return format(value, self.style)

    def limit(self, word: str) -> float | None:
        """Give what `MINimum`, `MAXimum` or `DEFault` stands for."""
        match word.upper():
            case "MIN" | "MINIMUM":
                return self.minimum
            case "MAX" | "MAXIMUM":
                return self.maximum
            case "DEF" | "DEFAULT":
                return self.default
        return None


@dataclass(frozen=True, slots=True)
class Choice:
    """One word of a list.

    Attributes:
        words: the words in SCPI's notation (`VOLTage`).
    """

    words: tuple[str, ...]

    def parse(self, text: str) -> str:
        """Read a word in either spelling; its short form is the value."""
        spelled = text.upper()
        for word in self.words:
            if spelled in spellings(word):
                return short_form(word)
        raise ScpiError(ILLEGAL_PARAMETER_VALUE)

    def write(self, value: Value) -> str:
        """Answer with the short form."""
        return str(value)

    def limit(self, word: str) -> None:
        """A list of words has neither a smallest nor a largest one."""
