"""A connection for protocols that answer in frames: what cannot be sent at once waits in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from sim_instruments.faults import UNHARMED, Effect
from sim_instruments.wires.place import Place
from sim_instruments.wires.stream import Stream

WAITING_LIMIT_BYTES = 64 * 1024
"""What may wait to be sent before the client's further bytes are left unread."""


class QueuedStream(Stream):
    """A stream that takes frames without making the caller wait.

    Args:
        places: the instruments that it leads to.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        super().__init__(places)
        self._waiting: deque[tuple[bytes, Effect]] = deque()
        self._waiting_bytes = 0
        self._sender: asyncio.Task[None] | None = None

    def push(self, frame: bytes, effect: Effect = UNHARMED) -> None:
        """Send a frame after those before it, as soon as the faults and the client allow."""
        if self._sender is None and self.send_now(frame, effect):
            return
        self._waiting.append((frame, effect))
        self._count(len(frame))
        if self._sender is None:
            self._sender = asyncio.get_running_loop().create_task(self._send_waiting())

    def drop_unsent(self) -> None:
        """Forget the frames of which nothing has been sent."""
        self._waiting.clear()
        self._count(-self._waiting_bytes)

    async def _send_waiting(self) -> None:
        try:
            while self._waiting:
                frame, effect = self._waiting.popleft()
                self._count(-len(frame))
                await self.send(frame, effect)
        except ConnectionError:
            self.drop_unsent()
        finally:
            self._sender = None

    def _count(self, added_bytes: int) -> None:
        was_over = self._waiting_bytes > WAITING_LIMIT_BYTES
        self._waiting_bytes += added_bytes
        is_over = self._waiting_bytes > WAITING_LIMIT_BYTES
        if is_over != was_over:
            self.hold_reading(is_over)
