"""Lines for the people at the terminal of the run, if there still is one."""

import queue
import sys
import threading

LAST_WORDS_S = 2.0
"""Seconds that the last lines get to be written; a terminal may take nothing any more."""


class Terminal:
    """Writes lines in a thread of its own: a terminal that is full must not hold up an E-stop."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="safetyq terminal", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        """Write ``line``; what is not printable in it, line breaks above all, is left out."""
        self._lines.put("".join(letter if letter.isprintable() else " " for letter in line))

    def close(self) -> None:
        """Wait until all is written, or for ``LAST_WORDS_S``."""
        self._lines.put(None)
        self._thread.join(LAST_WORDS_S)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                sys.stderr.write(line + "\n")
                sys.stderr.flush()
            except (OSError, ValueError, AttributeError):
                return  # the terminal is gone with the run; the instruments are off all the same
