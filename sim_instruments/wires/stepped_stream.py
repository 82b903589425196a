"""A connection whose messages are executed one by one, as long as nothing stands against it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence

from sim_instruments.wires.place import Place
from sim_instruments.wires.queued_stream import QueuedStream


class SteppedStream(QueuedStream):
    """A stream that can stop after any message, also in the middle of a chunk.

    One chunk may hold thousands of queries, so it is not enough to stop reading.

    Args:
        places: the instruments that it leads to.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        super().__init__(places)
        self._steps: deque[tuple[int, Iterator[None]]] = deque()

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

    def resume(self) -> None:
        """Go on with what has come, soon, as what stood against it may have gone."""
        asyncio.get_running_loop().call_soon(self._execute_steps)

    def proceeds(self) -> None:
        """Go on with what has come."""
        self.resume()

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
        return self.may_proceed and not self.is_closing and not self.is_blocked()
