"""`VisaLink` after a timeout: the late reply is discarded, whatever it takes."""

import time
from collections import deque

import pytest
from visa_helpers import IDENTITY, LOADED_S, Instrument, OpenLink

from pytest_safetyq import Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.links import RawBytes
from pytest_safetyq.links.visa import VisaLink

SAFETY, CONTROL, QUERY, POLL = Priority

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


async def test_a_late_reply_is_discarded_and_counted(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.answers[b"LATE?"] = (b"stale\n", 0.2)
    link = await open_link(resync_budget_s=2.0)
    assert await late_then_next(instrument, link, b"LATE?", timeout_s=0.1) == (b"b", b"c", 1)
    assert instrument.events.count("open") == 1
    assert instrument.unread == []


@pytest.mark.parametrize(
    ("late", "raw"),
    [(b"*IDN?", False), (b"*IDN?\n", False), (b"*IDN?\n", True), (b"*idn?", False)],
    ids=["as the link asks it", "with its terminator", "raw", "in lower case"],
)
async def test_a_late_reply_that_is_an_identity_itself_is_discarded_too(
    instrument: Instrument, late: bytes, raw: bool, open_link: OpenLink
) -> None:
    instrument.answers[b"*idn?"] = instrument.answers[b"*IDN?"]
    link = await open_link(resync_budget_s=2.0)
    instrument.once[late.rstrip(b"\n")] = deque([(IDENTITY + b"\n", 0.2)])
    answers = await late_then_next(instrument, link, late, timeout_s=0.1, raw=raw)
    assert answers == (b"b", b"c", 1)
    assert instrument.unread == []


async def test_a_reply_that_comes_only_after_the_link_was_reopened_answers_nobody(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.answers[b"LATE?"] = (b"stale\n", 0.4)
    link = await open_link(resync_budget_s=0.6)
    b, c, _ = await late_then_next(instrument, link, b"LATE?", timeout_s=0.05)
    assert instrument.events.count("open") == 2
    assert (b, c) == (b"b", b"c"), "nor does the identity that was asked for in the meantime"


async def test_a_query_that_is_never_answered_costs_one_identity_query(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link()
    assert await late_then_next(instrument, link, b"SILENT?", timeout_s=0.05) == (b"b", b"c", 0)
    assert instrument.messages == ["*IDN?\n", "SILENT?\n", "*IDN?\n", "B?\n", "C?\n"]
    assert instrument.events.count("open") == 1


async def test_a_link_with_nothing_owed_is_clear_after_one_identity_query(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link()
    await link.resynchronise(owed=0, lost=False, discard=lambda: pytest.fail("nothing came"))
    assert instrument.events == ["open", "*IDN?\n", "*IDN?\n"]


async def test_replies_that_died_with_the_old_session_are_not_counted_as_discarded(
    instrument: Instrument, open_link: OpenLink
) -> None:
    """As on a socket: nothing of before can come on a new connection."""
    instrument.forgets = True
    instrument.answers[b"B?"] = (b"b\n", 0.0)
    link = await open_link(resync_budget_s=1.0)
    instrument.once[b"*IDN?"] = deque([(b"", 0.0)])
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("silent", b"SILENT?", QUERY, timeout=0.05))
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
        assert dispatcher.discarded_replies == 0
    assert instrument.events.count("open") == 2


# Without an identity query.


async def test_without_an_identity_a_late_reply_is_awaited_and_discarded(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.answers[b"LATE?"] = (b"stale\n", 0.15)
    link = await open_link(identity_query=None)
    assert await late_then_next(instrument, link, b"LATE?", timeout_s=0.05) == (b"b", b"c", 1)
    assert instrument.messages == ["LATE?\n", "B?\n", "C?\n"]
    assert instrument.events.count("open") == 1


async def test_without_an_identity_a_link_whose_reply_does_not_come_is_reopened(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link(identity_query=None, resync_budget_s=0.2)
    assert await late_then_next(instrument, link, b"SILENT?", timeout_s=0.05) == (b"b", b"c", 0)
    assert instrument.events.count("open") == 2


async def test_without_an_identity_a_device_clear_leaves_nothing_to_wait_for(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.clears = True
    link = await open_link(identity_query=None, device_clear=True, resync_budget_s=2.0)
    started = time.monotonic()
    assert await late_then_next(instrument, link, b"SILENT?", timeout_s=0.05) == (b"b", b"c", 0)
    assert time.monotonic() - started < 0.05 + 2 * LOADED_S
    assert "clear" in instrument.events


# Device clear.


async def test_a_device_clear_comes_first_where_it_is_allowed(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.clears = True
    link = await open_link(device_clear=True)
    await late_then_next(instrument, link, b"SILENT?", timeout_s=0.05)
    at = instrument.events.index("SILENT?\n")
    assert instrument.events[at : at + 4] == ["SILENT?\n", "clear", "*IDN?\n", "B?\n"]


async def test_no_device_clear_is_sent_where_it_is_not_allowed(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.clears = True
    link = await open_link()
    await late_then_next(instrument, link, b"SILENT?", timeout_s=0.05)
    assert "clear" not in instrument.events


async def test_a_device_clear_that_is_not_implemented_falls_back_to_a_new_session(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.clears = None
    instrument.answers[b"LATE?"] = (b"stale\n", 0.1)
    link = await open_link(device_clear=True)
    assert await late_then_next(instrument, link, b"LATE?", timeout_s=0.05) == (b"b", b"c", 1)
