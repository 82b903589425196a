"""What the host can set on the controller (manual, 9)."""

from __future__ import annotations

from dataclasses import dataclass

END_OF_STRING = (b"\r\n", b"\r", b"\n", b"")
"""What `++eos` 0 to 3 appends to data for the instrument."""


@dataclass(slots=True)
class Settings:
    """The settings, with the values they have after power-on.

    Attributes:
        auto: 1 to read after every line of data, 2 after those that end in `?` (AR488), else 0.
        eoi: 1 to assert EOI with the last byte sent.
        eos: index to `END_OF_STRING`.
        eot_enable: 1 to append `eot_char` to what was read up to EOI.
        eot_char: the number of that character.
        read_tmo_ms: how long a read waits for the next byte, in milliseconds.
        savecfg: 1 to save the settings, which nothing here outlives.
    """

    auto: int = 0
    eoi: int = 1
    eos: int = 0
    eot_enable: int = 0
    eot_char: int = 0
    read_tmo_ms: int = 200
    savecfg: int = 1


LIMITS: dict[str, tuple[int, int]] = {
    "auto": (0, 2),
    "eoi": (0, 1),
    "eos": (0, len(END_OF_STRING) - 1),
    "eot_enable": (0, 1),
    "eot_char": (0, 255),
    "read_tmo_ms": (1, 3000),
    "savecfg": (0, 1),
}
"""Least and greatest value of each setting."""
