"""`VisaLink` and calls that overstay: left behind with their session, and a new one opened."""

import asyncio
import time

import pytest
from visa_helpers import IDENTITY, Instrument, OpenLink, ask, in_background, until

from pytest_safetyq import LinkLost, Priority, SafetyAwareDispatcher, TransactionTimeout

SAFETY, CONTROL, QUERY, POLL = Priority


async def test_a_read_that_overstays_is_left_behind_with_its_thread_and_its_session(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.answers[b"B?"] = (b"b\n", 0.0)
    link = await open_link()
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        instrument.stuck = True
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("stuck", b"STUCK?", QUERY, timeout=0.1))
        instrument.stuck = False
        assert await (await dispatcher.submit("b", b"B?", QUERY, timeout=1.0)) == b"b"
        old, new = instrument.sessions
        assert old.thread is not new.thread
        assert old.thread.is_alive()
        assert old.is_open, "it can't be closed while a call of it has not returned"
        instrument.release.set()
        await asyncio.to_thread(old.thread.join, 5.0)
        assert not old.is_open, "closed by its own thread when the call returned"
        assert new.is_open
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"


async def test_what_a_call_left_behind_reads_at_last_is_handed_to_nobody(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.answers[b"B?"] = (b"b\n", 0.0)
    link = await open_link()
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        instrument.stuck = True
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("stuck", b"STUCK?", QUERY, timeout=0.05))
        instrument.stuck = False
        instrument.release.set()
        for _ in range(3):
            assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"


async def test_a_call_that_overstays_leaves_a_lost_link_that_says_so(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link()
    instrument.stuck = True
    await link.write(b"STUCK?")
    reading = in_background(link.read())
    await asyncio.sleep(0.02)
    reading.cancel()
    await asyncio.wait({reading}, timeout=1.0)
    assert reading.cancelled()
    assert link.lost
    with pytest.raises(LinkLost, match="no session"):
        await link.write(b"NEXT")


async def test_a_read_that_returns_soon_after_its_cancellation_keeps_the_session(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link()
    instrument.stuck = True
    await link.write(b"STUCK?")
    reading = in_background(link.read())
    await asyncio.sleep(0.02)
    reading.cancel()
    instrument.release.set()
    await asyncio.wait({reading}, timeout=1.0)
    assert reading.cancelled()
    instrument.stuck = False
    assert await ask(link, b"*IDN?") == IDENTITY
    assert instrument.events.count("open") == 1


async def test_the_old_session_is_closed_before_a_new_one_is_opened(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.exclusive = True
    instrument.close_s = 0.03
    link = await open_link()
    link.deadline_s = time.monotonic() + 1.0
    await link.resynchronise(owed=1, lost=True, discard=lambda: None)
    assert instrument.events == ["open", "*IDN?\n", "close", "open", "*IDN?\n"]


async def test_a_link_that_can_not_be_reopened_is_lost_and_is_tried_again(
    instrument: Instrument, open_link: OpenLink
) -> None:
    def refuse() -> None:
        raise LinkLost("unplugged")

    instrument.answers[b"B?"] = (b"b\n", 0.0)
    link = await open_link()
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        instrument.open_hook = refuse
        dispatcher.distrust(lost=True)
        for _ in range(2):
            with pytest.raises(LinkLost, match="unplugged"):
                await (await dispatcher.submit("b", b"B?", QUERY))
        instrument.open_hook = lambda: None
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"


async def test_reopening_leaves_no_thread_behind(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link()
    for _ in range(5):
        await link.resynchronise(owed=0, lost=True, discard=lambda: None)
    await link.close()
    threads = [session.thread for session in instrument.sessions]
    assert len(threads) == len(set(threads)) == 6
    for thread in threads:
        await asyncio.to_thread(thread.join, 5.0)
    assert not any(thread.is_alive() for thread in threads)
    assert not any(session.is_open for session in instrument.sessions)


async def test_a_call_that_was_given_up_never_passes_for_one_that_has_returned(
    instrument: Instrument, open_link: OpenLink
) -> None:
    """However late the loop looks again: what is written next would be refused."""
    link = await open_link()
    instrument.stuck = True
    await link.write(b"STUCK?")
    reading = in_background(link.read())
    await asyncio.sleep(0.02)
    reading.cancel()
    await asyncio.sleep(0)
    assert not reading.done(), "it has its grace"
    assert link.lost
    instrument.release.set()
    await asyncio.wait({reading}, timeout=1.0)
    assert not link.lost


async def test_a_call_that_has_returned_at_last_is_not_held_against_the_next_one(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.answers[b"B?"] = (b"b\n", 0.2)
    link = await open_link()
    instrument.stuck = True
    await link.write(b"STUCK?")
    reading = in_background(link.read())
    await asyncio.sleep(0.02)
    reading.cancel()
    await asyncio.wait({reading}, timeout=1.0)
    instrument.release.set()
    instrument.stuck = False
    await until(lambda: not link.lost)
    asking = in_background(ask(link, b"B?"))
    await asyncio.sleep(0.05)
    assert not link.lost, "the call in progress is one that is waited for"
    assert await asking == b"b"
