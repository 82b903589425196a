"""The one timer that all deadlines of a link share."""

import asyncio
import time

import pytest

from pytest_safetyq.dispatcher.alarm import Alarm


def event() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


async def test_it_goes_off_at_its_deadline() -> None:
    alarm, over = Alarm(), event()
    begun_s = time.monotonic()
    alarm.set(over, 0.05)
    await over
    assert 0.049 <= time.monotonic() - begun_s < 2.0


@pytest.mark.parametrize(("first_s", "then_s"), [(0.02, 0.1), (5.0, 0.1), (0.1, 0.1)])
async def test_a_new_deadline_takes_the_place_of_the_one_before(
    first_s: float, then_s: float
) -> None:
    alarm, first, then = Alarm(), event(), event()
    alarm.set(first, first_s)
    alarm.lift()
    begun_s = time.monotonic()
    alarm.set(then, then_s)
    await then
    assert then_s - 0.001 <= time.monotonic() - begun_s < 2.0
    assert not first.done()


async def test_one_that_was_lifted_sets_nothing() -> None:
    alarm, over = Alarm(), event()
    alarm.set(over, 0.01)
    alarm.lift()
    await asyncio.sleep(0.05)
    assert not over.done()


async def test_it_leaves_alone_what_is_set_already() -> None:
    alarm, over = Alarm(), event()
    alarm.set(over, 0.01)
    over.set_result(None)
    await asyncio.sleep(0.05)
    alarm.cancel()


async def test_a_thousand_deadlines_that_never_come_leave_one_timer_on_the_loop() -> None:
    loop, alarm = asyncio.get_running_loop(), Alarm()
    before = len(loop._scheduled)  # type: ignore[attr-defined]
    for _ in range(1000):
        alarm.set(event(), 60.0)
        alarm.lift()
    assert len(loop._scheduled) == before + 1  # type: ignore[attr-defined]
    alarm.cancel()
    alarm.cancel()
