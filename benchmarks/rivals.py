"""What one would write instead: a priority queue and a worker. For comparison only."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Self

from pytest_safetyq.links import Link
from pytest_safetyq.scheduling import Priority, effective_priority


@dataclass(order=True, slots=True)
class Entry:
    """One waiting message; entries compare by urgency, then by age."""

    effective: int
    number: int
    base: Priority = field(compare=False)
    payload: bytes = field(compare=False)
    enqueued_s: float = field(compare=False)
    reply: asyncio.Future[bytes] = field(compare=False)
    dispatched_s: float = field(compare=False, default=0.0)


class QueueDispatcher:
    """One ``asyncio.PriorityQueue``, one worker, and ``asyncio.wait_for`` as the budget.

    Args:
        link: The link.
        budget_s: Budget of each transaction in seconds.
    """

    def __init__(self, link: Link, budget_s: float = 5.0) -> None:
        self._link = link
        self._budget_s = budget_s
        self._number = 0
        self._worker: asyncio.Task[None] | None = None
        self.queue: asyncio.PriorityQueue[Entry] = asyncio.PriorityQueue()

    async def __aenter__(self) -> Self:
        self._worker = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._worker is not None
        self._worker.cancel()
        await asyncio.wait({self._worker})

    def enqueue(self, payload: bytes, priority: Priority) -> Entry:
        """Enqueue one message; return its entry, with the future of its reply."""
        reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._number += 1
        entry = Entry(priority, self._number, priority, payload, time.monotonic(), reply)
        self.queue.put_nowait(entry)
        return entry

    async def _run(self) -> None:
        while True:
            entry = await self._next()
            reply = await asyncio.wait_for(self._converse(entry), self._budget_s)
            if not entry.reply.done():
                entry.reply.set_result(reply)

    async def _next(self) -> Entry:
        return await self.queue.get()

    async def _converse(self, entry: Entry) -> bytes:
        entry.dispatched_s = time.monotonic()
        await self._link.write(entry.payload)
        return await self._link.read() if b"?" in entry.payload else b""


class ReagingDispatcher(QueueDispatcher):
    """The same, with aging: the whole queue is sorted anew before each command."""

    tau_age_s = 2.0

    async def _next(self) -> Entry:
        waiting = [await self.queue.get()]
        while not self.queue.empty():
            waiting.append(self.queue.get_nowait())
        now = time.monotonic()
        for entry in waiting:
            waited_s = now - entry.enqueued_s
            entry.effective = effective_priority(entry.base, waited_s, self.tau_age_s)
            self.queue.put_nowait(entry)
        return self.queue.get_nowait()
