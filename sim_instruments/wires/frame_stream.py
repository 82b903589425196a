"""A connection for protocols with frames: served by a coroutine that reads what it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from sim_instruments.wires.place import Place
from sim_instruments.wires.stream import Stream

READ_LIMIT_BYTES = 256 * 1024


class ProtocolError(Exception):
    """The client broke the protocol; its connection is closed, and nobody else notices."""


class FrameStream(Stream):
    """A stream served by a coroutine; when the coroutine is over the connection is closed.

    The coroutine may let `EOFError`, `ConnectionError` and `ProtocolError` through. It is not
    cancelled when the client goes, as what the client sent before is still to be executed: it
    gets an `EOFError` from its next read, and whatever else it waits for it should wait for with
    `unless_ended`.

    Args:
        places: the instruments that it leads to.
        serve: the coroutine.
    """

    def __init__(
        self,
        places: Sequence[Place],
        serve: Callable[[FrameStream], Coroutine[Any, Any, None]],
    ) -> None:
        super().__init__(places)
        self._serve = serve
        self._unread = bytearray()
        self._waiter: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    async def read_exactly(self, size: int) -> bytes:
        """Read `size` bytes.

        Raises:
            EOFError: the client closed the connection before they all came.
        """
        while len(self._unread) < size:
            if self.ended.is_set():
                raise EOFError("the client has gone")
            if self._is_full:
                self.hold_reading(False)
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        taken = bytes(self._unread[:size])
        del self._unread[:size]
        if self._is_full and len(self._unread) < READ_LIMIT_BYTES:
            self.hold_reading(False)
        return taken

    async def unless_ended(self, waiting: Coroutine[Any, Any, None]) -> bool:
        """Wait for something, but no longer than the client is there; return whether it came."""
        task = asyncio.ensure_future(waiting)
        end = asyncio.ensure_future(self.ended.wait())
        try:
            await asyncio.wait((task, end), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                return False
            task.result()
            return True
        finally:
            task.cancel()
            end.cancel()

    def opened(self) -> None:
        """Start to serve."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    def received(self, chunk: bytes) -> None:
        """Keep the bytes for `read_exactly`."""
        self._unread += chunk
        if len(self._unread) >= READ_LIMIT_BYTES:
            self.hold_reading(True)
        self._wake()

    def finished(self) -> None:
        """Let the coroutine come to its end by itself."""
        self._wake()

    def lost(self) -> None:
        """Let the coroutine come to its end by itself."""
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _run(self) -> None:
        try:
            await self._serve(self)
        except (EOFError, ConnectionError, ProtocolError):
            pass
        finally:
            self.close()
