"""A pseudo-terminal as an asyncio transport: the instrument's end of a serial cable."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import Any

_WRITE_LIMIT_BYTES = 64 * 1024
_BLOCKED = (errno.EAGAIN, errno.EINTR)


class PtyTransport(asyncio.Transport):
    """Opens a pseudo-terminal in raw mode and gives its master end to a protocol.

    The slave end is kept open too: without that, reading would fail whenever no client has it
    open, and a client that closes it would end the conversation.

    Args:
        protocol: told of everything, as by any transport.

    Raises:
        OSError: the system has no pseudo-terminal left.
    """

    def __init__(self, protocol: asyncio.BufferedProtocol) -> None:
        import tty  # noqa: PLC0415 - there is none on Windows

        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        """The device file that a client opens."""
        self._unwritten = bytearray()
        self._limit_bytes = _WRITE_LIMIT_BYTES
        self._is_writing_paused = False
        self._is_reading = False
        self._is_closed = False
        self.resume_reading()
        self._protocol.connection_made(self)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """There is no socket behind it, and so nothing to be told."""
        del name
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set how many bytes may wait before the protocol is told to pause."""
        del low
        self._limit_bytes = _WRITE_LIMIT_BYTES if high is None else high

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self._is_closed

    def is_reading(self) -> bool:
        """Whether what comes is read."""
        return self._is_reading

    def pause_reading(self) -> None:
        """Leave what comes unread, so that the client's writes block in the end."""
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._master)

    def resume_reading(self) -> None:
        """Read again."""
        if not self._is_reading and not self._is_closed:
            self._is_reading = True
            self._loop.add_reader(self._master, self._read)

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        """Write, and keep what does not go at once."""
        if self._is_closed:
            return
        self._unwritten += data
        self._flush()
        if self._unwritten:
            self._loop.add_writer(self._master, self._flush)
        if len(self._unwritten) > self._limit_bytes and not self._is_writing_paused:
            self._is_writing_paused = True
            self._protocol.pause_writing()

    def close(self) -> None:
        """Close both ends; a client that has the slave open gets a hang-up."""
        self.abort()

    def abort(self) -> None:
        """Close both ends at once."""
        if self._is_closed:
            return
        self.pause_reading()
        self._loop.remove_writer(self._master)
        self._is_closed = True
        os.close(self._master)
        os.close(self._slave)
        self._loop.call_soon(self._protocol.connection_lost, None)

    def _read(self) -> None:
        try:
            count = os.readv(self._master, [self._protocol.get_buffer(-1)])
        except OSError as error:
            if error.errno not in _BLOCKED:
                self.abort()
            return
        self._protocol.buffer_updated(count)

    def _flush(self) -> None:
        try:
            written = os.write(self._master, self._unwritten)
        except OSError as error:
            if error.errno not in _BLOCKED:
                self.abort()
            return
        del self._unwritten[:written]
        if not self._unwritten:
            self._loop.remove_writer(self._master)
            if self._is_writing_paused:
                self._is_writing_paused = False
                self._protocol.resume_writing()
