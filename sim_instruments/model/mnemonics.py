"""SCPI's long and short spellings of one word: `OUTPut` is `OUTP` or `OUTPUT`."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z0-9]+[a-z]*")


def short_form(word: str) -> str:
    """Give the part written in capitals, the form in which instruments answer.

    Args:
        word: a word in SCPI's notation, such as `VOLTage` or `CH1`.

    Raises:
        ValueError: the word is not capitals and digits followed by lower-case letters.
    """
    if not _WORD.fullmatch(word):
        raise ValueError(f"{word!r} is not in SCPI's notation, such as 'VOLTage'")
    return word.rstrip("abcdefghijklmnopqrstuvwxyz")


def spellings(word: str) -> frozenset[str]:
    """Give the two accepted spellings in capitals (SCPI-99 volume 1, 6.2.1); no others are."""
    return frozenset({short_form(word), word.upper()})
