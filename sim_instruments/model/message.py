"""Cutting one program message into its units, and a unit into header and parameters."""

from __future__ import annotations

import re

from sim_instruments.model.scpi_errors import (
    INVALID_CHARACTER,
    INVALID_EXPRESSION,
    INVALID_STRING_DATA,
    MISSING_PARAMETER,
    ScpiError,
)

# IEEE 488.2, 7.4.1.2: every control character is white space (the terminator is gone already).
_WHITE_SPACE = bytes.maketrans(bytes(range(32)), b" " * 32)
# A string or an expression is one piece, whatever separators it holds (IEEE 488.2, 7.7.5, 7.7.7).
# What opens one and is found alone has no end.
_MARKS = {
    separator: re.compile(rf""""[^"]*"|'[^']*'|\([^)]*\)|["'({separator}]""") for separator in ";,"
}
_OPENINGS = frozenset("\"'(")


def decode(message: bytes) -> str:
    """Turn the bytes of a message into text without outer white space.

    Raises:
        ScpiError: -101, a byte is not 7-bit ASCII (IEEE 488.2, 7).
    """
    try:
        return message.translate(_WHITE_SPACE).decode("ascii").strip(" ")
    except UnicodeDecodeError:
        raise ScpiError(INVALID_CHARACTER) from None


def split_units(message: str) -> list[str]:
    """Cut a message at its semicolons (IEEE 488.2, 7.3.2); empty units are dropped.

    Raises:
        ScpiError: -151 or -171, a string or an expression does not end.
    """
    return [unit for piece in _split(message, ";") if (unit := piece.strip(" "))]


def split_unit(unit: str) -> tuple[str, list[str]]:
    """Cut a unit into its header in capitals and its parameters as written.

    Raises:
        ScpiError: -109, there is nothing between two commas or after the last one.
    """
    header, _, data = unit.partition(" ")
    if not data:
        return header.upper(), []
    parameters = [piece.strip(" ") for piece in _split(data, ",")]
    if "" in parameters:
        raise ScpiError(MISSING_PARAMETER)
    return header.upper(), parameters


def _split(text: str, separator: str) -> list[str]:
    if _OPENINGS.isdisjoint(text):
        return text.split(separator)
    pieces = []
    start = 0
    for found in _MARKS[separator].finditer(text):
        mark = found[0]
        if mark == separator:
            pieces.append(text[start : found.start()])
            start = found.end()
        elif mark in _OPENINGS:
            raise ScpiError(INVALID_EXPRESSION if mark == "(" else INVALID_STRING_DATA)
    pieces.append(text[start:])
    return pieces
