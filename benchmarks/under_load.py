"""How soon a safety command is sent while the test process is busy computing.

The links live in a process of their own. Beside it: the same dispatcher in a thread of the
busy process, where every step waits for the interpreter lock.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from time import monotonic

from benchmarks.figures import Figure, distribution
from benchmarks.opening import first_spec
from pytest_safetyq import Instrument, Priority, SafetyAwareDispatcher, TransactionRecord
from pytest_safetyq.bench.client.bench import Bench
from pytest_safetyq.links import ScriptedLink

SAMPLES = 100
OFF = ":OUTP OFF"
QUERY = "*IDN?"


def run() -> list[Figure]:
    """Measure both under the same load, one after the other."""
    with busy_thread():
        apart_s = waits_apart()
        within_s = waits_within()
    return [
        *distribution("busy process, supervisor", apart_s),
        *distribution("busy process, dispatcher in a thread of it", within_s),
        Figure("p50, supervisor to thread", median(apart_s) / median(within_s), "x"),
    ]


@contextmanager
def busy_thread() -> Iterator[None]:
    """Keep a thread computing in Python, which never lets go of the lock of its own accord."""
    ended = threading.Event()

    def compute() -> None:
        while not ended.is_set():
            sum(number * number for number in range(1_000))

    thread = threading.Thread(target=compute, name="busy")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def waits_apart() -> list[float]:
    """Return seconds from submission in this process to dispatch in the supervisor."""
    bench = Bench()
    try:
        instrument = Instrument(bench, bench.open(first_spec()))
        for _ in range(SAMPLES):
            instrument.submit(OFF, priority=Priority.SAFETY).result()
            instrument.query(QUERY)  # so that the next one is no repeat of this one
        return waits_of(bench.history(instrument.name))
    finally:
        bench.close()


def waits_within() -> list[float]:
    """Return seconds from submission to dispatch in a thread of this process."""
    with running_loop() as loop:
        dispatcher = SafetyAwareDispatcher.on(ScriptedLink({QUERY.encode(): b"1"}))

        async def send(message: str, priority: Priority, given_s: float) -> None:
            await dispatcher.enqueue(message, message.encode(), priority, submitted_s=given_s)

        def sent(message: str, priority: Priority) -> None:
            asyncio.run_coroutine_threadsafe(send(message, priority, monotonic()), loop).result()

        asyncio.run_coroutine_threadsafe(dispatcher.start(), loop).result()
        for _ in range(SAMPLES):
            sent(OFF, Priority.SAFETY)
            sent(QUERY, Priority.QUERY)
        asyncio.run_coroutine_threadsafe(dispatcher.stop(), loop).result()
        return waits_of(dispatcher.records)


@contextmanager
def running_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="dispatcher")
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def waits_of(records: list[TransactionRecord]) -> list[float]:
    """Return the dispatch latencies, in seconds, of the safety commands that were sent."""
    safety = (r.dispatch_latency_s for r in records if r.payload.strip() == OFF.encode())
    return [wait_s for wait_s in safety if wait_s is not None]
