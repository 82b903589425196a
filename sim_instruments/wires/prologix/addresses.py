"""GPIB addresses, as the controller's commands and as PyVISA's resource names write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_SECONDARY_OFFSET = 96
_RESOURCE = re.compile(r"GPIB(\d+)::(\d+)(?:::(\d+))?::INSTR")


class Address(NamedTuple):
    """Where an instrument is on the bus.

    Attributes:
        primary: 0 to 30.
        secondary: 96 to 126, `None` for none.
    """

    primary: int
    secondary: int | None = None

    def __str__(self) -> str:
        return " ".join(str(part) for part in self if part is not None)

    @property
    def resource_part(self) -> str:
        """The address in a resource name, as pyvisa-py hands it to the controller."""
        return "::".join(str(part) for part in self if part is not None)


def parse_addresses(words: Sequence[str]) -> list[Address] | None:
    """Read the addresses among a command's arguments, `None` if they are none.

    A number from 96 on is the secondary address of the one before it.
    """
    addresses: list[Address] = []
    for word in words:
        if not re.fullmatch(r"\d{1,3}", word):
            return None
        number = int(word)
        if number <= 30:
            addresses.append(Address(number))
        elif 96 <= number <= 126 and addresses and addresses[-1].secondary is None:
            addresses[-1] = Address(addresses[-1].primary, number)
        else:
            return None
    return addresses


def parse_resource(name: str) -> tuple[int, Address] | None:
    """Give board and address of a GPIB instrument's canonical resource name, else `None`."""
    found = _RESOURCE.fullmatch(name)
    if found is None:
        return None
    board, primary, secondary = found.groups()
    if secondary is None:
        return int(board), Address(int(primary))
    return int(board), Address(int(primary), int(secondary) % _SECONDARY_OFFSET + _SECONDARY_OFFSET)
