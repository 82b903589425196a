"""`drain`: throwing away the replies that are owed."""

import asyncio
import time

import pytest

from pytest_safetyq.links.draining import drain


class Replies:
    """Replies that come one after the other, each after its delay.

    In the place of a delay there may be an exception, which is raised at once.
    """

    def __init__(self, *script: float | Exception) -> None:
        self._script = list(script)
        self.read_count = 0
        self.errors = 0
        self.discarded = 0
        self.cancelled = False

    async def read(self) -> bytes:
        if not self._script:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        entry = self._script.pop(0)
        if isinstance(entry, Exception):
            self.errors += 1
            raise entry
        await asyncio.sleep(entry)
        self.read_count += 1
        return b"stale"

    def discard(self) -> None:
        self.discarded += 1

    async def drain(self, *, owed: int, budget_s: float) -> None:
        await drain(self.read, owed=owed, budget_s=budget_s, discard=self.discard)


async def test_it_reads_as_many_as_are_owed_and_not_one_more() -> None:
    replies = Replies(0.0, 0.01, 0.0)
    await replies.drain(owed=2, budget_s=5.0)
    assert replies.discarded == 2
    assert replies.read_count == 2


async def test_it_reads_nothing_when_nothing_is_owed() -> None:
    replies = Replies()
    await replies.drain(owed=0, budget_s=5.0)
    assert replies.discarded == 0
    assert not replies.cancelled


async def test_it_gives_up_when_the_budget_for_all_of_them_is_spent() -> None:
    replies = Replies(0.0)
    started = time.monotonic()
    await replies.drain(owed=3, budget_s=0.05)
    assert replies.discarded == 1
    assert 0.049 <= time.monotonic() - started < 1.0
    assert replies.cancelled


async def test_it_waits_out_a_silence_before_the_late_reply() -> None:
    replies = Replies(0.2)
    await replies.drain(owed=1, budget_s=2.0)
    assert replies.discarded == 1


async def test_it_can_be_cancelled() -> None:
    replies = Replies()
    task = asyncio.create_task(replies.drain(owed=1, budget_s=60.0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert replies.cancelled


async def test_what_came_before_it_was_cancelled_is_counted() -> None:
    replies = Replies(0.0, 0.0)
    task = asyncio.create_task(replies.drain(owed=3, budget_s=60.0))
    async with asyncio.timeout(5.0):
        while replies.discarded < 2:  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert replies.discarded == 2


@pytest.mark.parametrize(
    "error", [ConnectionResetError("gone"), BrokenPipeError("gone"), ConnectionError("gone")]
)
async def test_a_lost_connection_is_told_at_once(error: ConnectionError) -> None:
    replies = Replies(0.0, error, 0.0)
    with pytest.raises(ConnectionError, match="gone"):
        await replies.drain(owed=3, budget_s=60.0)
    assert (replies.discarded, replies.read_count) == (1, 1)


@pytest.mark.parametrize(
    "error", [OSError("nothing"), TimeoutError("nothing"), ValueError("nothing")]
)
async def test_a_read_that_raises_brought_no_reply_and_is_tried_again(error: Exception) -> None:
    replies = Replies(error, error, 0.0, error, 0.0)
    await replies.drain(owed=2, budget_s=60.0)
    assert (replies.discarded, replies.errors) == (2, 3)


async def test_a_read_that_only_raises_is_given_up_with_the_budget_and_never_a_busy_loop() -> None:
    replies = Replies(*[OSError("nothing")] * 1000)
    started = time.monotonic()
    await replies.drain(owed=1, budget_s=0.1)
    assert 0.099 <= time.monotonic() - started < 1.0
    assert replies.discarded == 0
    assert 1 < replies.errors <= 11, "once in 10 ms"


async def test_it_ends_in_time_although_a_driver_has_a_timeout_of_its_own() -> None:
    async def read() -> bytes:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(60.0)
        return b""

    started = time.monotonic()
    await drain(read, owed=1, budget_s=0.1, discard=lambda: pytest.fail("nothing came"))
    assert 0.099 <= time.monotonic() - started < 1.0
