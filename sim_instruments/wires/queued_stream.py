"""A connection for protocols that answer in frames: what cannot be sent at once waits in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from sim_instruments.faults import UNHARMED, Effect
from sim_instruments.wires.place import Place
from sim_instruments.wires.stream import Stream

BACKLOG_LIMIT_BYTES = 1024 * 1024


class QueuedStream(Stream):
    """A stream that takes frames without making the caller wait.

    Once more than `BACKLOG_LIMIT_BYTES` wait, to be sent or to be executed, the client's further
    bytes are left unread.

    Args:
        places: the instruments that it leads to.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        super().__init__(places)
        self._unsent: deque[tuple[bytes, Effect]] = deque()
        self._backlog_bytes = 0
        self._sender: asyncio.Task[None] | None = None

    def push(self, frame: bytes, effect: Effect = UNHARMED) -> None:
        """Send a frame after those before it, as soon as the faults and the client allow."""
        if self._sender is None and self.send_now(frame, effect):
            return
        self._unsent.append((frame, effect))
        self.add_to_backlog(len(frame))
        if self._sender is None:
            self._sender = asyncio.get_running_loop().create_task(self._send_all())

    def drop_unsent(self) -> None:
        """Forget the frames of which nothing has been sent."""
        self.add_to_backlog(-sum(len(frame) for frame, _effect in self._unsent))
        self._unsent.clear()

    def add_to_backlog(self, waiting_bytes: int) -> None:
        """Count what waits; negative when it waits no longer."""
        was_full = self._backlog_bytes > BACKLOG_LIMIT_BYTES
        self._backlog_bytes += waiting_bytes
        is_full = self._backlog_bytes > BACKLOG_LIMIT_BYTES
        if is_full != was_full:
            self.hold_reading(is_full)

    async def _send_all(self) -> None:
        try:
            while self._unsent:
                frame, effect = self._unsent.popleft()
                self.add_to_backlog(-len(frame))
                await self.send(frame, effect)
        except ConnectionError:
            self.drop_unsent()
        finally:
            self._sender = None
