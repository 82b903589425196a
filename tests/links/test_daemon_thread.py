"""`DaemonThread`: blocking calls of one link, in a thread that can be left behind."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_safetyq
from pytest_safetyq.errors import LinkLost
from pytest_safetyq.links.daemon import DaemonThread

ROOT = str(Path(pytest_safetyq.__file__).parents[1])


def nothing() -> None:
    """Do nothing."""


async def gone(thread: threading.Thread) -> bool:
    """Whether ``thread`` ends, in 5 s at the most."""
    await asyncio.to_thread(thread.join, 5.0)
    return not thread.is_alive()


def thread_of(name: str) -> threading.Thread:
    (thread,) = [t for t in threading.enumerate() if t.name == name]
    return thread


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Set at the end at the latest, so that no test leaves a thread behind for good."""
    event = threading.Event()
    yield event
    event.set()


async def test_a_call_returns_what_the_function_returns_and_runs_in_the_named_thread() -> None:
    thread = DaemonThread("of the link")
    assert await thread.call(lambda: threading.current_thread().name) == "of the link"
    assert thread_of("of the link").daemon
    thread.end(nothing)


@pytest.mark.parametrize(
    ("error", "raised"),
    [(OSError("x"), OSError), (SystemExit(1), LinkLost), (KeyboardInterrupt(), LinkLost)],
    ids=["OSError", "SystemExit", "KeyboardInterrupt"],
)
async def test_whatever_is_raised_is_told_to_the_caller_and_ends_neither_thread_nor_loop(
    error: BaseException, raised: type[Exception]
) -> None:
    def fail() -> None:
        raise error

    thread = DaemonThread("raising")
    outcome: BaseException | None = None
    try:
        await thread.call(fail)
    except BaseException as caught:  # noqa: BLE001 - that is the question
        outcome = caught
    assert isinstance(outcome, raised)
    assert await thread.call(lambda: 7) == 7
    assert not thread.is_busy()
    thread.end(nothing)


async def test_calls_run_one_after_the_other_in_their_order() -> None:
    thread = DaemonThread("in order")
    running = 0
    seen: list[tuple[int, int]] = []

    def work(number: int) -> None:
        nonlocal running
        running += 1
        time.sleep(0.002)
        seen.append((number, running))
        running -= 1

    await asyncio.gather(*[thread.call(lambda n=n: work(n)) for n in range(8)])
    assert seen == [(n, 1) for n in range(8)]
    thread.end(nothing)


async def test_the_loop_stays_alive_while_a_call_blocks(release: threading.Event) -> None:
    thread = DaemonThread("blocking")
    call = asyncio.create_task(asyncio.wait_for(thread.call(release.wait), 5.0))
    for _ in range(50):
        await asyncio.sleep(0)
    assert thread.is_busy()
    assert not call.done()
    release.set()
    assert await call is True
    assert not thread.is_busy()
    thread.end(nothing)


async def test_a_cancelled_call_goes_on_and_what_it_returns_is_dropped(
    release: threading.Event,
) -> None:
    thread = DaemonThread("cancelled")
    call = asyncio.create_task(thread.call(lambda: release.wait() and "stale"))
    await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert thread.is_busy()
    assert not await thread.settled(0.01)
    assert thread.is_busy()
    release.set()
    assert await thread.settled(5.0)
    assert not thread.is_busy()
    assert await thread.call(lambda: "fresh") == "fresh"
    thread.end(nothing)


async def test_it_is_busy_until_the_last_of_several_calls_has_returned(
    release: threading.Event,
) -> None:
    thread = DaemonThread("several")
    first = asyncio.create_task(thread.call(lambda: 1))
    second = asyncio.create_task(thread.call(release.wait))
    await asyncio.sleep(0)
    time.sleep(0.05)  # noqa: ASYNC251 - the second begins before the loop hears of the first
    assert await first == 1
    assert thread.is_busy()
    release.set()
    await second
    assert not thread.is_busy()
    thread.end(nothing)


async def test_an_idle_thread_is_settled_at_once() -> None:
    thread = DaemonThread("idle")
    assert not thread.is_busy()
    assert await thread.settled(0.0)
    thread.end(nothing)


async def test_the_end_makes_the_last_call_and_ends_the_thread() -> None:
    thread = DaemonThread("ending")
    called: list[str] = []
    worker = thread_of("ending")
    thread.end(lambda: called.append(threading.current_thread().name))
    assert await gone(worker)
    assert called == ["ending"]


async def test_the_last_call_waits_for_the_one_that_is_stuck(release: threading.Event) -> None:
    thread = DaemonThread("stuck")
    called = threading.Event()
    worker = thread_of("stuck")
    call = asyncio.create_task(thread.call(release.wait))
    await asyncio.sleep(0.01)
    call.cancel()
    started = time.monotonic()
    thread.end(called.set)
    assert time.monotonic() - started < 0.5, "whoever ends it doesn't wait"
    assert not called.wait(0.02)
    release.set()
    assert await gone(worker)
    assert called.is_set()


async def test_a_last_call_that_raises_ends_the_thread_all_the_same() -> None:
    def fail() -> None:
        raise OSError("close failed")

    thread = DaemonThread("failing end")
    worker = thread_of("failing end")
    thread.end(fail)
    assert await gone(worker)


def test_a_call_that_returns_after_its_loop_was_closed_ends_the_thread(
    release: threading.Event,
) -> None:
    async def leave_behind() -> threading.Thread:
        thread = DaemonThread("orphan")
        call = asyncio.create_task(thread.call(release.wait))
        await asyncio.sleep(0.01)
        call.cancel()
        return thread_of("orphan")

    worker = asyncio.run(leave_behind())
    assert worker.is_alive()
    release.set()
    worker.join(5.0)
    assert not worker.is_alive()


STUCK = """
import asyncio, sys, threading
sys.path.insert(0, sys.argv[1])
from pytest_safetyq.errors import LinkLost
from pytest_safetyq.links.daemon import DaemonThread

async def main():
    thread = DaemonThread("stuck")
    try:
        async with asyncio.timeout(0.05):
            await thread.call(threading.Event().wait)
    except TimeoutError:
        print("left behind")
    thread.end(lambda: None)

asyncio.run(main())
"""


def test_a_call_that_never_returns_does_not_hold_the_exit_of_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", STUCK, ROOT],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "left behind\n", "")
