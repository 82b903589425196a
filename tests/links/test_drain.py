"""`drain`: throwing away the replies that are owed."""

import asyncio
import time

import pytest

from pytest_safetyq.links.draining import drain


class Replies:
    """Replies that come one after the other, each after its delay."""

    def __init__(self, *delays_s: float) -> None:
        self._delays_s = list(delays_s)
        self.read_count = 0
        self.cancelled = False

    async def read(self) -> bytes:
        if not self._delays_s:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        await asyncio.sleep(self._delays_s.pop(0))
        self.read_count += 1
        return b"stale"


async def test_it_reads_as_many_as_are_owed_and_not_one_more() -> None:
    replies = Replies(0.0, 0.01, 0.0)
    assert await drain(replies.read, owed=2, budget_s=5.0) == 2
    assert replies.read_count == 2


async def test_it_reads_nothing_when_nothing_is_owed() -> None:
    replies = Replies()
    assert await drain(replies.read, owed=0, budget_s=5.0) == 0
    assert not replies.cancelled


async def test_it_gives_up_when_the_budget_for_all_of_them_is_spent() -> None:
    replies = Replies(0.0)
    started = time.monotonic()
    assert await drain(replies.read, owed=3, budget_s=0.05) == 1
    assert 0.049 <= time.monotonic() - started < 1.0
    assert replies.cancelled


async def test_it_waits_out_a_silence_before_the_late_reply() -> None:
    assert await drain(Replies(0.2).read, owed=1, budget_s=2.0) == 1


async def test_it_can_be_cancelled() -> None:
    replies = Replies()
    task = asyncio.create_task(drain(replies.read, owed=1, budget_s=60.0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert replies.cancelled


async def test_a_lost_connection_is_told() -> None:
    async def read() -> bytes:
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError, match="gone"):
        await drain(read, owed=1, budget_s=1.0)
