"""The dispatcher's own cost per transaction: the link does nothing, so all else is overhead."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from statistics import median

from benchmarks.figures import Figure, spread
from benchmarks.rivals import QueueDispatcher
from pytest_safetyq import Priority, SafetyAwareDispatcher

COUNT = 2_000
ROUNDS = 9
TARGET_US = 40.0
QUERY = b"MEAS?"

Enqueue = Callable[[], Awaitable[bytes]]


class NothingLink:
    """A link that answers at once and does nothing."""

    resync_budget_s = 0.1

    async def write(self, payload: bytes, /) -> None:
        """Take one message."""

    async def read(self) -> bytes:
        """Return a reply."""
        return b"1"

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


def run() -> list[Figure]:
    """Measure them all in turn, round by round, so that noise hits all alike."""
    return asyncio.run(measure())


async def measure() -> list[Figure]:
    pipelined: dict[str, list[float]] = {}
    one_by_one: dict[str, list[float]] = {}
    async with AsyncExitStack() as stack:
        candidates = await started(stack)
        for _ in range(ROUNDS):
            for name, enqueue in candidates.items():
                pipelined.setdefault(name, []).append(await pipelined_us(enqueue))
                one_by_one.setdefault(name, []).append(await round_trip_us(enqueue))
    return [*figures("pipelined", pipelined), *figures("one at a time", one_by_one)]


async def started(stack: AsyncExitStack) -> dict[str, Enqueue]:
    """Return, by name, how to enqueue one query in each candidate."""
    link = NothingLink()
    on_link = await stack.enter_async_context(
        SafetyAwareDispatcher.on(link, max_depth=COUNT, name="link")
    )
    on_callbacks = await stack.enter_async_context(
        SafetyAwareDispatcher(link.read, link.write, max_depth=COUNT, name="callbacks")
    )
    naive = await stack.enter_async_context(QueueDispatcher(link))
    return {
        "a link object": lambda: on_link.enqueue("q", QUERY, Priority.QUERY),
        "two callbacks": lambda: on_callbacks.enqueue("q", QUERY, Priority.QUERY),
        "naive: PriorityQueue + wait_for": lambda: naive.enqueue(QUERY, Priority.QUERY).reply,
    }


async def pipelined_us(enqueue: Enqueue) -> float:
    """Return microseconds per transaction when all are enqueued first."""
    begun_s = time.perf_counter()
    replies = [enqueue() for _ in range(COUNT)]
    await replies[-1]
    return (time.perf_counter() - begun_s) / COUNT * 1e6


async def round_trip_us(enqueue: Enqueue) -> float:
    """Return microseconds per transaction when each waits for its reply."""
    begun_s = time.perf_counter()
    for _ in range(COUNT):
        await enqueue()
    return (time.perf_counter() - begun_s) / COUNT * 1e6


def figures(how: str, costs_us: dict[str, list[float]]) -> list[Figure]:
    """Return a figure for each candidate, and the ratio to the naive one."""
    *ours, naive = costs_us
    lines = [
        Figure(
            f"{how}, {name}",
            median(costs),
            "µs",
            TARGET_US if name in ours else None,
            spread(costs, "µs"),
        )
        for name, costs in costs_us.items()
    ]
    ratio = median(costs_us[ours[0]]) / median(costs_us[naive])
    return [*lines, Figure(f"{how}, {ours[0]} to naive", ratio, "x")]
