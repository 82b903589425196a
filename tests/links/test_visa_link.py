"""`VisaLink` on a VISA library that the test controls: deadlines, late replies, new sessions."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from visa_helpers import IDENTITY, Instrument, Session, in_background

from pytest_safetyq import LinkLost, Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.links import RawBytes
from pytest_safetyq.links.visa import VisaLink
from pytest_safetyq.links.visa_session import VisaAddress

SAFETY, CONTROL, QUERY, POLL = Priority
ADDRESS = VisaAddress(resource="GPIB0::5::INSTR")
LOADED_S = 0.25


@pytest.fixture
def instrument(monkeypatch: pytest.MonkeyPatch) -> Iterator[Instrument]:
    """The instrument behind every session that is opened."""
    played = Instrument()
    session = type("PlayedSession", (Session,), {"instrument": played})
    monkeypatch.setattr("pytest_safetyq.links.visa.VisaSession", session)
    yield played
    played.release.set()


def link_to(**settings: Any) -> VisaLink:
    return VisaLink(ADDRESS, **{"resync_budget_s": 0.4, **settings})


async def until(condition: Any) -> None:
    async with asyncio.timeout(5.0):
        while not condition():  # noqa: ASYNC110 - threads set no event of this loop
            await asyncio.sleep(0.001)


async def ask(link: VisaLink, message: bytes, timeout_s: float = 1.0) -> bytes:
    link.deadline_s = time.monotonic() + timeout_s
    await link.write(message)
    return await link.read()


# Opening.


async def test_opening_asks_for_the_identity(instrument: Instrument) -> None:
    link = link_to()
    assert link.identity is None
    assert await link.open(1.0) is link
    assert link.identity == IDENTITY
    assert instrument.events == ["open", "*IDN?\n"]
    assert instrument.sessions[0].thread.name == "safetyq GPIB0::5::INSTR"
    await link.close()


async def test_an_identity_query_of_its_own_is_asked(instrument: Instrument) -> None:
    instrument.answers[b"ID"] = (b"HP3458A\r\n", 0.0)
    link = await link_to(identity_query=b"ID", write_terminator=b"\r").open(1.0)
    assert link.identity == b"HP3458A"
    assert instrument.messages == ["ID\r"]
    await link.close()


async def test_without_an_identity_query_nothing_is_sent(instrument: Instrument) -> None:
    link = await link_to(identity_query=None).open(1.0)
    assert link.identity is None
    assert instrument.events == ["open"]
    await link.close()


async def test_an_instrument_that_says_nothing_is_not_open(instrument: Instrument) -> None:
    instrument.answers.clear()
    started = time.monotonic()
    with pytest.raises(LinkLost, match=r"GPIB0::5::INSTR: no answer to \*IDN\?"):
        await link_to().open(0.1)
    assert time.monotonic() - started < 2.0
    await until(lambda: instrument.events[-1] == "close")


async def test_what_can_not_be_opened_is_lost(instrument: Instrument) -> None:
    def refuse() -> None:
        raise LinkLost("GPIB0::5::INSTR can't be opened: nobody there")

    instrument.open_hook = refuse
    with pytest.raises(LinkLost, match="nobody there"):
        await link_to().open(1.0)
    assert instrument.sessions == []


async def test_an_opening_that_hangs_is_given_up_in_time(instrument: Instrument) -> None:
    instrument.open_hook = lambda: bool(instrument.release.wait(10.0)) and None
    opening = in_background(link_to().open(0.1))
    done, _ = await asyncio.wait({opening}, timeout=0.1 + 2 * LOADED_S)
    instrument.release.set()
    assert done == {opening}, "open(0.1) has not returned after 0.6 s"
    assert isinstance(opening.exception(), LinkLost)


async def test_an_identity_query_that_hangs_is_given_up_in_time(instrument: Instrument) -> None:
    instrument.stuck = True
    opening = in_background(link_to().open(0.1))
    done, _ = await asyncio.wait({opening}, timeout=0.1 + 2 * LOADED_S)
    instrument.release.set()
    assert done == {opening}, "open(0.1) has not returned after 0.6 s"
    assert isinstance(opening.exception(), LinkLost)


async def test_a_session_that_opens_when_nobody_waits_any_more_is_closed(
    instrument: Instrument,
) -> None:
    instrument.open_hook = lambda: bool(instrument.release.wait(10.0)) and None
    opening = in_background(link_to().open(60.0))
    await asyncio.sleep(0.02)
    opening.cancel()
    await asyncio.wait({opening}, timeout=1.0)
    assert opening.cancelled()
    instrument.release.set()
    await until(lambda: instrument.sessions)
    thread = instrument.sessions[0].thread
    await asyncio.to_thread(thread.join, 5.0)
    assert not thread.is_alive()
    assert instrument.events == ["open", "close"]


async def test_an_opening_cancelled_at_its_identity_query_closes_the_session(
    instrument: Instrument,
) -> None:
    instrument.answers[b"*IDN?"] = (IDENTITY, 0.2)
    opening = in_background(link_to().open(5.0))
    await until(lambda: instrument.messages)
    opening.cancel()
    await asyncio.wait({opening}, timeout=1.0)
    assert opening.cancelled()
    thread = instrument.sessions[0].thread
    await asyncio.to_thread(thread.join, 1.0)
    assert instrument.events[-1] == "close"


# Messages and replies.


async def test_a_message_gets_its_terminator_once(instrument: Instrument) -> None:
    link = await link_to(write_terminator=b"\r\n").open(1.0)
    for message in (b"A", b"B\r\n", b"C\n", RawBytes(b"D"), RawBytes(b"\x00\xff")):
        link.deadline_s = time.monotonic() + 1.0
        await link.write(message)
    assert instrument.messages[1:] == ["A\r\n", "B\r\n", "C\n\r\n", "D", "\x00\xff"]
    await link.close()


async def test_a_reply_comes_without_terminator_unless_it_answers_raw_bytes(
    instrument: Instrument,
) -> None:
    instrument.answers[b"V?"] = (b" 1.5\r\n", 0.0)
    link = await link_to().open(1.0)
    assert await ask(link, b"V?") == b" 1.5"
    assert await ask(link, RawBytes(b"V?\n")) == b" 1.5\r\n"
    assert await ask(link, b"V?") == b" 1.5"
    await link.close()


async def test_a_linefeed_left_over_from_the_reply_before_is_no_part_of_the_next(
    instrument: Instrument,
) -> None:
    instrument.answers[b"V?"] = (b"\n2.5\r", 0.0)
    address = VisaAddress(resource="ASRL1::INSTR", read_terminator=b"\r")
    link = await VisaLink(address).open(1.0)
    assert await ask(link, b"V?") == b"2.5"
    await link.close()


async def test_a_link_that_was_never_opened_or_is_closed_is_lost(instrument: Instrument) -> None:
    link = link_to()
    with pytest.raises(LinkLost, match="no session"):
        await link.write(b"A")
    await link.open(1.0)
    await link.close()
    await link.close()
    with pytest.raises(LinkLost, match="no session"):
        await ask(link, b"A?")
    assert instrument.messages == ["*IDN?\n"]


async def test_closing_closes_the_session_and_ends_its_thread(instrument: Instrument) -> None:
    link = await link_to().open(1.0)
    await link.close()
    thread = instrument.sessions[0].thread
    await asyncio.to_thread(thread.join, 5.0)
    assert not thread.is_alive()
    assert instrument.events[-1] == "close"


# Late replies.


async def late_then_next(
    instrument: Instrument, link: VisaLink, late: bytes, *, timeout_s: float, raw: bool = False
) -> tuple[bytes, bytes, int]:
    """Let ``late`` time out; return the replies of the two queries after it, and the discards."""
    instrument.answers[b"B?"] = (b"b\n", 0.0)
    instrument.answers[b"C?"] = (b"c\n", 0.0)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        payload = RawBytes(late) if raw else late
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("late", payload, QUERY, timeout=timeout_s))
        b = await (await dispatcher.submit("b", b"B?", QUERY))
        c = await (await dispatcher.submit("c", b"C?", QUERY))
        return b, c, dispatcher.discarded_replies


async def test_a_late_reply_is_discarded_and_counted(instrument: Instrument) -> None:
    instrument.answers[b"LATE?"] = (b"stale\n", 0.2)
    link = await link_to(resync_budget_s=2.0).open(1.0)
    assert await late_then_next(instrument, link, b"LATE?", timeout_s=0.1) == (b"b", b"c", 1)
    assert instrument.events.count("open") == 1
    assert instrument.unread == []
    await link.close()


@pytest.mark.parametrize(
    ("late", "raw"),
    [(b"*IDN?", False), (b"*IDN?\n", False), (b"*IDN?\n", True), (b"*idn?", False)],
    ids=["as the link asks it", "with its terminator", "raw", "in lower case"],
)
async def test_a_late_reply_that_is_an_identity_itself_is_discarded_too(
    instrument: Instrument, late: bytes, raw: bool
) -> None:
    instrument.answers[b"*idn?"] = instrument.answers[b"*IDN?"]
    link = await link_to(resync_budget_s=2.0).open(1.0)
    instrument.once[late.rstrip(b"\n")] = deque([(IDENTITY + b"\n", 0.2)])
    answers = await late_then_next(instrument, link, late, timeout_s=0.1, raw=raw)
    assert answers == (b"b", b"c", 1)
    assert instrument.unread == []
    await link.close()


async def test_a_reply_that_comes_only_after_the_link_was_reopened_answers_nobody(
    instrument: Instrument,
) -> None:
    instrument.answers[b"LATE?"] = (b"stale\n", 0.4)
    link = await link_to(resync_budget_s=0.6).open(1.0)
    b, c, _ = await late_then_next(instrument, link, b"LATE?", timeout_s=0.05)
    assert instrument.events.count("open") == 2
    assert (b, c) == (b"b", b"c"), "nor does the identity that was asked for in the meantime"
    await link.close()


async def test_a_query_that_is_never_answered_costs_one_identity_query(
    instrument: Instrument,
) -> None:
    link = await link_to().open(1.0)
    assert await late_then_next(instrument, link, b"SILENT?", timeout_s=0.05) == (b"b", b"c", 0)
    assert instrument.messages == ["*IDN?\n", "SILENT?\n", "*IDN?\n", "B?\n", "C?\n"]
    assert instrument.events.count("open") == 1
    await link.close()


async def test_a_link_with_nothing_owed_is_clear_after_one_identity_query(
    instrument: Instrument,
) -> None:
    link = await link_to().open(1.0)
    await link.resynchronise(owed=0, lost=False, discard=lambda: pytest.fail("nothing came"))
    assert instrument.events == ["open", "*IDN?\n", "*IDN?\n"]
    await link.close()


async def test_replies_that_died_with_the_old_session_are_not_counted_as_discarded(
    instrument: Instrument,
) -> None:
    """As on a socket: nothing of before can come on a new connection."""
    instrument.forgets = True
    instrument.answers[b"B?"] = (b"b\n", 0.0)
    link = await link_to(resync_budget_s=1.0).open(1.0)
    instrument.once[b"*IDN?"] = deque([(b"", 0.0)])
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("silent", b"SILENT?", QUERY, timeout=0.05))
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
        assert dispatcher.discarded_replies == 0
    assert instrument.events.count("open") == 2
    await link.close()


# Without an identity query.


async def test_without_an_identity_a_late_reply_is_awaited_and_discarded(
    instrument: Instrument,
) -> None:
    instrument.answers[b"LATE?"] = (b"stale\n", 0.15)
    link = await link_to(identity_query=None).open(1.0)
    assert await late_then_next(instrument, link, b"LATE?", timeout_s=0.05) == (b"b", b"c", 1)
    assert instrument.messages == ["LATE?\n", "B?\n", "C?\n"]
    assert instrument.events.count("open") == 1
    await link.close()


async def test_without_an_identity_a_link_whose_reply_does_not_come_is_reopened(
    instrument: Instrument,
) -> None:
    link = await link_to(identity_query=None, resync_budget_s=0.2).open(1.0)
    assert await late_then_next(instrument, link, b"SILENT?", timeout_s=0.05) == (b"b", b"c", 0)
    assert instrument.events.count("open") == 2
    await link.close()


async def test_without_an_identity_a_device_clear_leaves_nothing_to_wait_for(
    instrument: Instrument,
) -> None:
    instrument.clears = True
    link = await link_to(identity_query=None, device_clear=True, resync_budget_s=2.0).open(1.0)
    started = time.monotonic()
    assert await late_then_next(instrument, link, b"SILENT?", timeout_s=0.05) == (b"b", b"c", 0)
    assert time.monotonic() - started < 0.05 + 2 * LOADED_S
    assert "clear" in instrument.events
    await link.close()


# Device clear.


async def test_a_device_clear_comes_first_where_it_is_allowed(instrument: Instrument) -> None:
    instrument.clears = True
    link = await link_to(device_clear=True).open(1.0)
    await late_then_next(instrument, link, b"SILENT?", timeout_s=0.05)
    at = instrument.events.index("SILENT?\n")
    assert instrument.events[at : at + 4] == ["SILENT?\n", "clear", "*IDN?\n", "B?\n"]
    await link.close()


async def test_no_device_clear_is_sent_where_it_is_not_allowed(instrument: Instrument) -> None:
    instrument.clears = True
    link = await link_to().open(1.0)
    await late_then_next(instrument, link, b"SILENT?", timeout_s=0.05)
    assert "clear" not in instrument.events
    await link.close()


async def test_a_device_clear_that_is_not_implemented_falls_back_to_a_new_session(
    instrument: Instrument,
) -> None:
    instrument.clears = None
    instrument.answers[b"LATE?"] = (b"stale\n", 0.1)
    link = await link_to(device_clear=True).open(1.0)
    assert await late_then_next(instrument, link, b"LATE?", timeout_s=0.05) == (b"b", b"c", 1)
    await link.close()


# Calls that overstay.


async def test_a_read_that_overstays_is_left_behind_with_its_thread_and_its_session(
    instrument: Instrument,
) -> None:
    instrument.answers[b"B?"] = (b"b\n", 0.0)
    link = await link_to().open(1.0)
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
    await link.close()


async def test_what_a_call_left_behind_reads_at_last_is_handed_to_nobody(
    instrument: Instrument,
) -> None:
    instrument.answers[b"B?"] = (b"b\n", 0.0)
    link = await link_to().open(1.0)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        instrument.stuck = True
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("stuck", b"STUCK?", QUERY, timeout=0.05))
        instrument.stuck = False
        instrument.release.set()
        for _ in range(3):
            assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
    await link.close()


async def test_a_call_that_overstays_leaves_a_lost_link_that_says_so(
    instrument: Instrument,
) -> None:
    link = await link_to().open(1.0)
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
    await link.close()


async def test_a_read_that_returns_soon_after_its_cancellation_keeps_the_session(
    instrument: Instrument,
) -> None:
    link = await link_to().open(1.0)
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
    await link.close()


async def test_the_old_session_is_closed_before_a_new_one_is_opened(
    instrument: Instrument,
) -> None:
    instrument.exclusive = True
    instrument.close_s = 0.03
    link = await link_to().open(1.0)
    link.deadline_s = time.monotonic() + 1.0
    await link.resynchronise(owed=1, lost=True, discard=lambda: None)
    assert instrument.events == ["open", "*IDN?\n", "close", "open", "*IDN?\n"]
    await link.close()


async def test_a_link_that_can_not_be_reopened_is_lost_and_is_tried_again(
    instrument: Instrument,
) -> None:
    def refuse() -> None:
        raise LinkLost("unplugged")

    instrument.answers[b"B?"] = (b"b\n", 0.0)
    link = await link_to().open(1.0)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        instrument.open_hook = refuse
        dispatcher.distrust(lost=True)
        for _ in range(2):
            with pytest.raises(LinkLost, match="unplugged"):
                await (await dispatcher.submit("b", b"B?", QUERY))
        instrument.open_hook = lambda: None
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
    await link.close()


async def test_reopening_leaves_no_thread_behind(instrument: Instrument) -> None:
    link = await link_to().open(1.0)
    for _ in range(5):
        await link.resynchronise(owed=0, lost=True, discard=lambda: None)
    await link.close()
    threads = [session.thread for session in instrument.sessions]
    assert len(threads) == len(set(threads)) == 6
    for thread in threads:
        await asyncio.to_thread(thread.join, 5.0)
    assert not any(thread.is_alive() for thread in threads)
    assert not any(session.is_open for session in instrument.sessions)


# E-stops.


async def estop_while_stuck(
    instrument: Instrument, link: VisaLink, *, budget_s: float
) -> tuple[float, float]:
    """Submit an E-stop while a read is stuck; return its latency and its bound, in seconds."""
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        instrument.stuck = True
        stuck = await dispatcher.submit("stuck", b"STUCK?", POLL, timeout=budget_s)
        await until(lambda: "STUCK?\n" in instrument.messages)
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        with pytest.raises(TransactionTimeout):
            await stuck
        instrument.stuck = False
        assert await estop == b""
        assert "OFF\n" in instrument.messages
        (record,) = [r for r in dispatcher.records if r.cmd_id == "estop"]
    assert record.outcome == "ok"
    assert record.dispatch_latency_s is not None
    return record.dispatch_latency_s, record.bound_s


async def test_an_estop_behind_a_stuck_read_goes_out_on_a_new_session_within_its_bound(
    instrument: Instrument,
) -> None:
    link = await link_to(resync_budget_s=2.0).open(1.0)
    latency_s, bound_s = await estop_while_stuck(instrument, link, budget_s=0.3)
    assert bound_s >= 0.2, "it waits for the rest of the budget"
    assert latency_s <= bound_s + LOADED_S
    assert len(instrument.sessions) == 2
    await link.close()


async def test_an_estop_behind_a_stuck_read_needs_no_answer_from_the_instrument(
    instrument: Instrument,
) -> None:
    link = await link_to(resync_budget_s=1.0).open(1.0)
    instrument.answers.clear()
    latency_s, bound_s = await estop_while_stuck(instrument, link, budget_s=0.2)
    assert latency_s <= bound_s + LOADED_S, "OFF waited for the answer to an identity query"
    await link.close()


async def test_an_estop_behind_a_call_that_is_left_behind_is_late_by_the_new_session(
    instrument: Instrument,
) -> None:
    """The bound counts the budgets, and not that a link is lost: then the record shows it."""
    link = await link_to(resync_budget_s=1.0).open(1.0)

    def slow() -> None:
        time.sleep(0.5)

    instrument.open_hook = slow
    latency_s, bound_s = await estop_while_stuck(instrument, link, budget_s=0.2)
    assert bound_s < latency_s <= bound_s + 0.5 + LOADED_S
    await link.close()


async def test_an_estop_on_a_dirty_link_is_written_at_once_with_nothing_before_it(
    instrument: Instrument,
) -> None:
    link = await link_to().open(1.0)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("silent", b"SILENT?", QUERY, timeout=0.05))
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
        (record,) = [r for r in dispatcher.records if r.cmd_id == "estop"]
    assert instrument.messages == ["*IDN?\n", "SILENT?\n", "OFF\n"]
    assert record.bound_s == 0.0
    await link.close()


async def test_an_estop_during_a_resynchronisation_breaks_it_off(instrument: Instrument) -> None:
    instrument.answers[b"B?"] = (b"b\n", 0.0)
    instrument.answers[b"LATE?"] = (b"stale\n", 0.5)
    link = await link_to(resync_budget_s=4.0).open(1.0)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("late", b"LATE?", QUERY, timeout=0.05))
        query = await dispatcher.submit("b", b"B?", QUERY)
        await until(lambda: instrument.messages.count("*IDN?\n") == 2)
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        await estop
        assert not query.done()
        (record,) = [r for r in dispatcher.records if r.cmd_id == "estop"]
        assert record.dispatch_latency_s is not None
        assert record.dispatch_latency_s <= 0.3, "the late reply is due after 0.5 s"
        assert await query == b"b"
        assert await (await dispatcher.submit("c", b"B?", QUERY)) == b"b"
    await link.close()


async def test_all_threads_are_daemons(instrument: Instrument) -> None:
    link = await link_to().open(1.0)
    threads = [t for t in threading.enumerate() if t.name.startswith("safetyq GPIB")]
    assert threads
    assert all(thread.daemon for thread in threads)
    await link.close()
