"""`Pace`: the least time between two messages of one link."""

import asyncio
import time

import pytest

from pytest_safetyq.links.pace import Pace


async def test_the_first_message_waits_for_nothing() -> None:
    async with asyncio.timeout(5.0):
        await Pace(60.0).keep()


async def test_the_next_one_waits_for_the_rest_of_the_gap() -> None:
    pace = Pace(0.05)
    pace.sent()
    sent_s = time.monotonic()
    await asyncio.sleep(0.02)
    await pace.keep()
    assert time.monotonic() - sent_s >= 0.0499


async def test_one_that_comes_after_the_gap_goes_at_once() -> None:
    pace = Pace(0.01)
    pace.sent()
    await asyncio.sleep(0.02)
    turns = 0

    async def count() -> None:
        nonlocal turns
        turns += 1

    counting = asyncio.ensure_future(count())
    await pace.keep()  # gives no other task a turn
    assert turns == 0
    await counting


def test_without_a_gap_nothing_waits() -> None:
    pace = Pace(0.0)
    pace.sent()
    waiting = pace.keep()
    with pytest.raises(StopIteration):
        waiting.send(None)
