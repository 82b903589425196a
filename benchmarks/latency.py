"""How long a safety command waits behind ten polls and behind a hundred thousand.

It comes from another thread at a random moment, as an E-stop does, and its wait is counted
from there: a dispatcher that keeps its loop busy gets no credit for noticing late.
"""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from benchmarks.figures import Figure, distribution
from benchmarks.rivals import ReagingDispatcher
from pytest_safetyq import Priority, SafetyAwareDispatcher
from pytest_safetyq.dispatcher.reply import Reply
from pytest_safetyq.links import ScriptedLink

TRANSACTION_S = 0.001
"""Nominal: on Linux asyncio's timers wake at whole milliseconds, so it takes up to twice that."""

TARGET_RATIO = 1.2
ROUNDS = 3
OFF = b"OUTP OFF"
POLL = b"MEAS?"
# Samples per round; the reference takes a second for each where many polls wait.
DEPTHS = {10: 160, 200: 160, 10_000: 160, 100_000: 160}
REFERENCE_DEPTHS = {10: 160, 200: 120, 10_000: 6, 100_000: 2}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A dispatcher under test.

    Attributes:
        poll: Enqueues one poll and returns its future.
        stop: Sends the safety command that was given at the time it is told, and returns
            how many seconds later that was dispatched.
    """

    poll: Callable[[], asyncio.Future[bytes]]
    stop: Callable[[float], asyncio.Future[float]]


def run() -> list[Figure]:
    """Measure all depths in turn, round by round."""
    ours_s: dict[int, list[float]] = {depth: [] for depth in DEPTHS}
    reference_s: dict[int, list[float]] = {depth: [] for depth in REFERENCE_DEPTHS}
    for _ in range(ROUNDS):
        for depth, samples in DEPTHS.items():
            ours_s[depth] += asyncio.run(waits_of_ours(depth, samples))
        for depth, samples in REFERENCE_DEPTHS.items():
            reference_s[depth] += asyncio.run(waits_of_reference(depth, samples))
    return [
        *figures("safetyq", ours_s, TARGET_RATIO),
        *figures("PriorityQueue re-aged", reference_s, None),
    ]


def figures(name: str, waits_s: dict[int, list[float]], target: float | None) -> list[Figure]:
    """Return the distribution at each depth, and the ratio of the deepest to the shallowest."""
    lines = [
        line
        for depth, samples in waits_s.items()
        for line in distribution(f"{name}, {depth:,} polls", samples)
    ]
    shallow, *_, deep = waits_s
    ratio = median(waits_s[deep]) / median(waits_s[shallow])
    return [*lines, Figure(f"{name}, p50 at {deep:,} to {shallow:,}", ratio, "x", target)]


def link() -> ScriptedLink:
    """Return an instrument that takes a millisecond for a poll, and none to be told "off"."""
    return ScriptedLink({POLL: b"1"}, latency_s=TRANSACTION_S)


async def waits_of_ours(depth: int, samples: int) -> list[float]:
    """Return waits, in seconds, in a dispatcher behind ``depth`` polls."""
    dispatcher = SafetyAwareDispatcher.on(link(), max_depth=depth + 1)

    def stop(given_s: float) -> asyncio.Future[float]:
        reply = dispatcher.enqueue(f"stop {given_s}", OFF, Priority.SAFETY, submitted_s=given_s)
        return then(reply, lambda: wait_of(reply))

    candidate = Candidate(lambda: dispatcher.enqueue("poll", POLL, Priority.POLL), stop)
    async with dispatcher:
        return await measured(candidate, depth, samples)


async def waits_of_reference(depth: int, samples: int) -> list[float]:
    """Return waits, in seconds, in the reference behind ``depth`` polls."""
    dispatcher = ReagingDispatcher(link())

    def stop(given_s: float) -> asyncio.Future[float]:
        entry = dispatcher.enqueue(OFF, Priority.SAFETY)
        return then(entry.reply, lambda: entry.dispatched_s - given_s)

    candidate = Candidate(lambda: dispatcher.enqueue(POLL, Priority.POLL).reply, stop)
    async with dispatcher:
        return await measured(candidate, depth, samples)


def wait_of(reply: Reply) -> float:
    """Return how many seconds the command of ``reply`` waited until it was sent."""
    assert reply.record is not None
    wait_s = reply.record.dispatch_latency_s
    assert wait_s is not None
    return wait_s


def then(reply: asyncio.Future[bytes], value: Callable[[], float]) -> asyncio.Future[float]:
    """Return a future of ``value()``, which is called when ``reply`` is there."""
    result: asyncio.Future[float] = reply.get_loop().create_future()
    reply.add_done_callback(lambda _: result.set_result(value()))
    return result


async def measured(candidate: Candidate, depth: int, samples: int) -> list[float]:
    """Return waits, in seconds, with ``depth`` polls waiting all the time."""
    measuring = True

    def poll_again(reply: asyncio.Future[bytes]) -> None:
        if measuring and not reply.cancelled():
            candidate.poll().add_done_callback(poll_again)

    for _ in range(depth):
        candidate.poll().add_done_callback(poll_again)
    loop = asyncio.get_running_loop()
    waits_s = [await asyncio.to_thread(one_wait, loop, candidate) for _ in range(samples)]
    measuring = False
    return waits_s


def one_wait(loop: asyncio.AbstractEventLoop, candidate: Candidate) -> float:
    """Give one safety command from this thread; return how many seconds it waited."""
    # Whole transactions and a random rest, so that every phase is as likely as any other.
    time.sleep(TRANSACTION_S * random.uniform(2.0, 6.0))
    given_s = time.monotonic()

    async def stopped() -> float:
        return await candidate.stop(given_s)

    return asyncio.run_coroutine_threadsafe(stopped(), loop).result()
