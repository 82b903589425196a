"""`VisaLink` and a safety command that comes while its thread is blocked in a read."""

import asyncio
import threading
import time
from collections.abc import Callable

import pytest
from visa_helpers import LOADED_S, Instrument, OpenLink, until

from pytest_safetyq import Preempted, Priority, SafetyAwareDispatcher
from pytest_safetyq.links import InterruptibleLink
from pytest_safetyq.links.breaking import BREAK_S, RENEW_S
from pytest_safetyq.links.visa import VisaLink

SAFETY, CONTROL, QUERY, POLL = Priority
LONG_S = 5.0


class PlayedBreaker:
    """Does what a test says in the place of a channel beside the blocked one.

    Attributes:
        threads: The threads that it was called from.
    """

    def __init__(self, does: Callable[[], object], *, keeps_session: bool) -> None:
        self.keeps_session = keeps_session
        self.threads: list[threading.Thread] = []
        self._does = does

    def break_off(self, until_s: float) -> None:
        self.threads.append(threading.current_thread())
        self._does()

    def close(self) -> None: ...


async def stopped_while_stuck(instrument: Instrument, link: VisaLink) -> float:
    """Submit OFF while a read is stuck; return how long it took, in seconds."""
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        instrument.stuck = True
        stuck = await dispatcher.submit("stuck", b"STUCK?", POLL, timeout=2 * LONG_S)
        await until(lambda: "STUCK?\n" in instrument.messages)
        begun_s = time.monotonic()
        off = await dispatcher.submit("off", b"OFF", SAFETY)
        await off
        took_s = time.monotonic() - begun_s
        with pytest.raises(Preempted):
            await stuck
        instrument.stuck = False
        (record,) = [r for r in dispatcher.records if r.cmd_id == "off"]
        assert record.bound_s == BREAK_S + RENEW_S
        assert instrument.messages[-1] == "OFF\n"
        assert instrument.messages.count("OFF\n") == 1
    return took_s


async def test_a_read_that_is_broken_off_leaves_the_session_for_the_off_command(
    instrument: Instrument, open_link: OpenLink
) -> None:
    breaker = instrument.breaker = PlayedBreaker(instrument.release.set, keeps_session=True)
    link = await open_link()
    assert await stopped_while_stuck(instrument, link) <= BREAK_S + LOADED_S
    assert len(instrument.sessions) == 1
    (aside,) = breaker.threads
    assert aside is not instrument.sessions[0].thread, "that one is blocked"
    await asyncio.to_thread(aside.join, 5.0)
    assert not aside.is_alive(), "it is for once"


async def test_where_breaking_off_costs_the_session_off_goes_out_on_a_new_one(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.breaker = PlayedBreaker(instrument.release.set, keeps_session=False)
    link = await open_link()
    assert await stopped_while_stuck(instrument, link) <= BREAK_S + RENEW_S + LOADED_S
    old, new = instrument.sessions
    assert not old.is_open
    assert new.is_open


def refuse() -> None:
    raise ConnectionRefusedError("nobody listens")


@pytest.mark.parametrize("does", [refuse, lambda: time.sleep(1.0), lambda: None])
async def test_where_breaking_off_fails_hangs_or_does_nothing_the_read_is_left_behind(
    instrument: Instrument, open_link: OpenLink, does: Callable[[], object]
) -> None:
    instrument.breaker = PlayedBreaker(does, keeps_session=True)
    link = await open_link()
    assert await stopped_while_stuck(instrument, link) <= BREAK_S + RENEW_S + LOADED_S
    old, new = instrument.sessions
    assert old.is_open, "it can't be closed while a call of it has not returned"
    assert new.is_open


async def test_an_abort_that_comes_before_the_read_is_sent_again(
    instrument: Instrument, open_link: OpenLink
) -> None:
    def second_time() -> None:
        if len(breaker.threads) > 1:
            instrument.release.set()

    breaker = instrument.breaker = PlayedBreaker(second_time, keeps_session=True)
    link = await open_link()
    await stopped_while_stuck(instrument, link)
    assert len(breaker.threads) == 2
    assert len(instrument.sessions) == 1


async def test_a_session_without_a_breaker_offers_nothing(open_link: OpenLink) -> None:
    link = await open_link()
    assert isinstance(link, InterruptibleLink)
    assert link.interrupt_budget_s is None
    await link.close()
    assert link.interrupt_budget_s is None
