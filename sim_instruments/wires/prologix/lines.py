"""What the host sends: controller commands, and data for the instrument (manual, 8 and 8.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_COMMAND_BYTES = 256
LONGEST_PART_BYTES = 4096
"""Data are handed on in parts of this length, so that no line is too long."""

_ESCAPE = 0x1B
_SPECIAL = re.compile(rb"[\x1b\r\n]")
_COMMAND = b"++"


class Command(NamedTuple):
    """A line that begins with an unescaped `++`; `text` is what follows, without end of line.

    Of a line that is too long for any command only the beginning is there.
    """

    text: str


class Data(NamedTuple):
    """Bytes for the instrument, escapes removed; `is_end` when the line ends there."""

    payload: bytes
    is_end: bool


class LineReader:
    """Takes the lines of one connection apart.

    An unescaped CR or LF ends a line; an empty line is nothing. ESC makes the next byte data.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._is_escaped = False
        self._begins_escaped = False
        self._is_continued = False

    def feed(self, chunk: bytes) -> Iterator[Command | Data]:
        """Take a chunk and give what it completes."""
        at = 0
        while at < len(chunk):
            if self._is_escaped:
                self._is_escaped = False
                self._add_escaped(chunk[at : at + 1])
                at += 1
                continue
            found = _SPECIAL.search(chunk, at)
            end = len(chunk) if found is None else found.start()
            self._line += chunk[at:end]
            at = end + 1
            if len(self._line) > LONGEST_COMMAND_BYTES:
                yield from self._full_parts()
            if found is None:
                return
            if chunk[end] == _ESCAPE:
                self._is_escaped = True
            elif self._line:
                yield self._ended_line()

    def _add_escaped(self, byte: bytes) -> None:
        # An escape among the first two bytes says that the line is no command.
        self._begins_escaped = self._begins_escaped or len(self._line) < len(_COMMAND)
        self._line += byte

    def _is_command(self) -> bool:
        return (
            self._line.startswith(_COMMAND) and not self._begins_escaped and not self._is_continued
        )

    def _full_parts(self) -> Iterator[Data]:
        if self._is_command():
            del self._line[LONGEST_COMMAND_BYTES:]
            return
        while len(self._line) > LONGEST_PART_BYTES:
            part = bytes(self._line[:LONGEST_PART_BYTES])
            del self._line[:LONGEST_PART_BYTES]
            self._is_continued = True
            yield Data(part, is_end=False)

    def _ended_line(self) -> Command | Data:
        line = bytes(self._line)
        is_command = self._is_command()
        self._line.clear()
        self._begins_escaped = False
        self._is_continued = False
        if is_command:
            return Command(line[len(_COMMAND) :].decode("ascii", "backslashreplace"))
        return Data(line, is_end=True)
