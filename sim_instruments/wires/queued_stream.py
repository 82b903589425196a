"""A connection for protocols that answer in frames: what cannot be sent at once waits in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence

from sim_instruments.faults import UNHARMED, Effect
from sim_instruments.wires.place import Place
from sim_instruments.wires.stream import Stream

LIMIT_BYTES = 1024 * 1024


class QueuedStream(Stream):
    """A stream that takes frames without making the caller wait.

    Once more than `LIMIT_BYTES` wait to be sent, nothing more is executed for this client; and
    once more than that waits to be executed, nothing more is read from it.

    Args:
        places: the instruments that it leads to.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        super().__init__(places)
        self._may_proceed = asyncio.Event()
        self._may_proceed.set()
        self._unsent: deque[tuple[bytes, Effect]] = deque()
        self._unsent_bytes = 0
        self._held_bytes = 0
        self._steps: deque[tuple[int, Iterator[None]]] = deque()
        self._sender: asyncio.Task[None] | None = None

    def execute(self, chunk: bytes) -> Iterator[None]:
        """Execute the bytes that have come, one message or line at each step."""
        raise NotImplementedError

    def is_blocked(self) -> bool:
        """Whether the next message must wait; whoever blocks it calls `resume` when it is over."""
        return False

    def received(self, chunk: bytes) -> None:
        """Execute the bytes that have come, as far as there is room for the answers."""
        steps = self.execute(chunk)
        # Mostly nothing waits and nothing stands against it: no need to queue and to count.
        if not self._steps and self._is_exhausted(steps):
            return
        self._steps.append((len(chunk), steps))
        self.hold(len(chunk))

    def push(self, frame: bytes, effect: Effect = UNHARMED) -> None:
        """Send a frame after those before it, as soon as the faults and the client allow."""
        if self._sender is None and self.send_now(frame, effect):
            return
        self._unsent.append((frame, effect))
        self._count_unsent(len(frame))
        if self._sender is None:
            self._sender = asyncio.get_running_loop().create_task(self._send_all())

    def drop_unsent(self) -> None:
        """Forget the frames of which nothing has been sent."""
        self._count_unsent(-sum(len(frame) for frame, _effect in self._unsent))
        self._unsent.clear()

    def hold(self, held_bytes: int) -> None:
        """Count what waits to be executed; negative when it waits no longer."""
        self._held_bytes += held_bytes
        must_hold = self._must_hold_reading()
        if must_hold != self._is_full:
            self.hold_reading(must_hold)

    def resume(self) -> None:
        """Go on with what has come, soon, as what stood against it may have gone."""
        asyncio.get_running_loop().call_soon(self._execute_steps)

    async def until_proceeding(self) -> None:
        """Wait until neither a freeze nor a client that does not read stands against going on."""
        await self._may_proceed.wait()

    def reconsider(self) -> None:
        """Look anew at what stands against reading, executing and sending."""
        super().reconsider()
        if self._is_frozen or self._unsent_bytes > LIMIT_BYTES:
            self._may_proceed.clear()
        elif not self._may_proceed.is_set():
            self._may_proceed.set()
            self.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio; nobody waits for a thaw or for a client that is gone."""
        super().connection_lost(exc)
        self._may_proceed.set()

    async def _send_all(self) -> None:
        try:
            while self._unsent:
                await self._send_one(*self._unsent.popleft())
        except ConnectionError:
            self.drop_unsent()
        finally:
            self._sender = None

    async def _send_one(self, frame: bytes, effect: Effect) -> None:
        try:
            await self.send(frame, effect)
        finally:
            self._count_unsent(-len(frame))

    def _execute_steps(self) -> None:
        while self._steps:
            chunk_bytes, steps = self._steps[0]
            if not self._is_exhausted(steps):
                return
            self._steps.popleft()
            self.hold(-chunk_bytes)

    def _is_exhausted(self, steps: Iterator[None]) -> bool:
        """Take the steps that may be taken; return whether those were all."""
        while self._may_execute():
            if next(steps, self) is self:
                return True
        return False

    def _may_execute(self) -> bool:
        return self._may_proceed.is_set() and not self.is_closing and not self.is_blocked()

    def _count_unsent(self, added_bytes: int) -> None:
        was_congested = self._unsent_bytes > LIMIT_BYTES
        self._unsent_bytes += added_bytes
        if was_congested != (self._unsent_bytes > LIMIT_BYTES):
            self.hold_reading(self._must_hold_reading())

    def _must_hold_reading(self) -> bool:
        return max(self._held_bytes, self._unsent_bytes) > LIMIT_BYTES
