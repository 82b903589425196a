"""Chunks of bytes in, whole program messages out."""

from __future__ import annotations

MAX_MESSAGE_BYTES = 4096


class Framer:
    r"""Collects the bytes of one connection until a terminator ends a message.

    A line longer than `MAX_MESSAGE_BYTES` is dropped up to its terminator, as one message lost.

    Args:
        terminator: what ends a program message, usually `b"\n"` (IEEE 488.2, 7.5).
    """

    def __init__(self, terminator: bytes) -> None:
        self._terminator = terminator
        self._partial = b""
        self._overrun = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """Take a chunk and give the messages it completes, `None` for a line that was too long."""
        *lines, self._partial = (self._partial + chunk).split(self._terminator)
        messages: list[bytes | None] = []
        for line in lines:
            lost = self._overrun or len(line) > MAX_MESSAGE_BYTES
            self._overrun = False
            messages.append(None if lost else line)
        if len(self._partial) > MAX_MESSAGE_BYTES:
            self._overrun = True
            # The first half of a terminator may be at the end.
            self._partial = self._partial[len(self._partial) - len(self._terminator) + 1 :]
        return messages

    def finish(self) -> list[bytes | None]:
        """End the message begun, as an END or EOI without a terminator does; none if there is none.

        Gives what `feed` would have given had the terminator come.
        """
        if not self._partial and not self._overrun:
            return []
        return self.feed(self._terminator)

    def discard(self) -> None:
        """Forget the message begun."""
        self._partial = b""
        self._overrun = False
