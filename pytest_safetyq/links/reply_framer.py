"""Bytes of a stream in, whole replies out: where the wire itself knows no END.

A socket and a serial port carry bytes; only a terminator says where a reply ends. No I/O here.
"""

import re
from typing import NamedTuple

from pytest_safetyq.errors import LinkLost

MAX_REPLY_BYTES = 256 * 1024 * 1024

_STRAY = b"\r\n"
_STRAYS = (b"\r", b"\n")
_SEPARATORS = b",;"  # a block stands at the beginning of a reply, or behind one of these
_HEAD = re.compile(rb"#([1-9])(\d*)")


class Framed(NamedTuple):
    """A reply as it came.

    Attributes:
        wire: All bytes of it, its terminator included.
        end: Where its terminator, and a CR or LF beside that, begins.
    """

    wire: bytes
    end: int

    @property
    def content(self) -> bytes:
        """The reply without its terminator."""
        return self.wire[: self.end]


class ReplyFramer:
    r"""Finds the ends of replies.

    A reply ends at its terminator, except inside a definite length block, which may contain it
    (IEEE 488.2, 8.7.9). An indefinite length block (``#0``, 8.7.10) ends at the terminator: its
    own end is a newline with END, which a stream doesn't have.

    A CR or LF before a reply, which isn't the terminator, is the rest of one that is longer than
    was said (pyvisa#808), and dropped. A terminator alone is an empty reply.

    Args:
        terminator: What ends a reply, such as ``b"\n"``.
        block_terminated: Whether a reply that is a block ends at a terminator behind it; else
            it ends with the block.
        limit_bytes: How long a reply may be.
    """

    def __init__(
        self,
        terminator: bytes = b"\n",
        *,
        block_terminated: bool = True,
        limit_bytes: int = MAX_REPLY_BYTES,
    ) -> None:
        if not terminator:
            raise ValueError(r'a stream needs a terminator, such as "\n"')
        self._terminator = terminator
        self._block_terminated = block_terminated
        self._limit_bytes = limit_bytes
        self._seek = re.compile(b"#|" + re.escape(terminator))
        self._buffer = bytearray()
        self._scanned = 0  # nothing before this ends the first reply
        self._after_block = False
        self._block_end = 0  # where its last block ends: data, which no stripping may touch

    def fresh(self) -> "ReplyFramer":
        """Return another one with the same rules and nothing in it."""
        return ReplyFramer(
            self._terminator,
            block_terminated=self._block_terminated,
            limit_bytes=self._limit_bytes,
        )

    def feed(self, chunk: bytes) -> None:
        """Take what has arrived."""
        self._buffer += chunk

    @property
    def has_content(self) -> bool:
        """Whether anything waits that isn't the rest of a terminator."""
        return len(self._buffer) > self._stray()

    @property
    def is_overfull(self) -> bool:
        """Whether more waits than one reply may be."""
        return len(self._buffer) > self._limit_bytes

    def next_reply(self) -> Framed | None:
        """Take the oldest complete reply; None while there is none.

        Raises:
            LinkLost: A reply is longer than it may be: its end is unknown.
        """
        if self._scanned == 0 and (stray := self._stray()):
            del self._buffer[:stray]
            self._after_block = False
        is_complete = self._scan()
        if self._scanned > self._limit_bytes:
            raise LinkLost(f"a reply is longer than {self._limit_bytes} bytes")
        if not is_complete:
            return None
        wire = bytes(memoryview(self._buffer)[: self._scanned])
        tail = wire[self._block_end :].removesuffix(self._terminator).rstrip(_STRAY)
        framed = Framed(wire, self._block_end + len(tail))
        self._after_block = len(wire) == self._block_end  # a terminator behind it is no reply
        del self._buffer[: self._scanned]
        self._scanned = self._block_end = 0
        return framed

    def _stray(self) -> int:
        """Return how many bytes at the beginning are the rest of what was read before."""
        end = 0
        while self._buffer[end : end + 1] in _STRAYS:
            if self._buffer.startswith(self._terminator, end):
                if not self._after_block:
                    break
                return end + len(self._terminator)
            if self._terminator.startswith(bytes(self._buffer[end : end + len(self._terminator)])):
                break  # its beginning: the rest may follow
            end += 1
        return end

    def _scan(self) -> bool:
        """Move on to the end of the first reply, as far as it is there; return whether it is."""
        while (found := self._seek.search(self._buffer, self._scanned)) is not None:
            start = found.start()
            if found[0] == self._terminator:
                self._scanned = found.end()
                return True
            if start and self._buffer[start - 1] not in _SEPARATORS:
                self._scanned = start + 1
                continue
            end = self._end_of_block(start)
            if end is None:
                return False
            if end == start:
                self._scanned = start + 1
                continue
            self._scanned = self._block_end = end
            if start == 0 and not self._block_terminated:
                return True
        # The first bytes of a longer terminator may be the last ones here.
        self._scanned = max(self._scanned, len(self._buffer) - len(self._terminator) + 1)
        return False

    def _end_of_block(self, start: int) -> int | None:
        """Return where the block at ``start`` ends; None: not there yet; ``start``: no block."""
        head = _HEAD.match(self._buffer, start, start + 11)
        if head is None:
            return start if len(self._buffer) > start + 1 else None
        digits = int(head[1])
        if len(head[2]) < digits:
            return start if len(self._buffer) >= start + 2 + digits else None
        end = start + 2 + digits + int(head[2][:digits])
        if end > self._limit_bytes:
            raise LinkLost(
                f"a reply announces {end} bytes, and at most {self._limit_bytes} may come"
            )
        return end if len(self._buffer) >= end else None
