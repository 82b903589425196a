"""A dirty link: late replies answer nobody, and E-stops don't wait for them."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from dispatcher_helpers import (
    LOADED_S,
    SHORT_DRAIN_S,
    Owner,
    never,
    outcomes,
    record_of,
    stubborn,
    turns,
    until,
)

from pytest_safetyq import LinkLost, Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


async def timed_out(dispatcher: SafetyAwareDispatcher, payload: bytes = b"LATE?") -> None:
    with pytest.raises(TransactionTimeout):
        await (await dispatcher.submit("late", payload, QUERY, timeout=0.04))


async def test_a_late_reply_is_discarded_and_never_answers_the_next_query(own: Owner) -> None:
    link = ScriptedLink({b"B?": b"b", b"C?": b"c"}).on(b"LATE?", b"stale", after_s=0.2)
    async with own(link) as dispatcher:
        await timed_out(dispatcher)
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
        assert await (await dispatcher.submit("c", b"C?", QUERY)) == b"c"
        assert dispatcher.discarded_replies == 1
    assert link.payloads == [b"LATE?", b"B?", b"C?"]


@pytest.mark.usefixtures("short_drain")
async def test_several_late_replies_are_all_discarded(own: Owner) -> None:
    link = ScriptedLink({b"B?": b"b"}, resync_budget_s=SHORT_DRAIN_S).on(
        b"LATE?", b"stale1", after_s=0.2
    )
    link.on(b"LATE2?", b"stale2", after_s=0.01)

    async def job(txn: Any) -> None:
        with pytest.raises(TransactionTimeout):
            await txn(b"LATE?", timeout=0.04)

    async with own(link) as dispatcher:
        await dispatcher.run_job(job, QUERY)
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
        await timed_out(dispatcher, b"SILENT?")
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"


async def test_a_query_that_is_never_answered_holds_up_the_next_for_the_resync_only() -> None:
    link = ScriptedLink({b"B?": b"b"}, resync_budget_s=0.1)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        await timed_out(dispatcher)
        started = time.monotonic()
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
        assert 0.09 < time.monotonic() - started < 0.1 + LOADED_S
        assert await (await dispatcher.submit("b", b"B?", QUERY, timeout=0.5)) == b"b"
    assert link.resynchronised == 1


async def test_a_message_without_a_reply_needs_no_clean_link(own: Owner) -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.2)
    async with own(link) as dispatcher:
        await timed_out(dispatcher)
        await (await dispatcher.submit("set", b"SET 1", CONTROL))
        assert link.resynchronised == 0
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"


async def test_a_read_that_fails_leaves_its_late_reply_to_nobody(own: Owner) -> None:
    failed = False

    class Flaky(ScriptedLink):
        async def read(self) -> bytes:
            nonlocal failed
            if not failed:
                failed = True
                raise OSError("interrupted")
            return await super().read()

    link = Flaky({b"A?": b"a", b"B?": b"b"}, latency_s=0.02)
    async with own(link) as dispatcher:
        with pytest.raises(OSError, match="interrupted"):
            await (await dispatcher.submit("a", b"A?", QUERY))
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"


async def resynchronising(dispatcher: SafetyAwareDispatcher) -> asyncio.Future[bytes]:
    """Bring the dispatcher to where it waits for a late reply; return the query behind it."""
    await timed_out(dispatcher)
    query = await dispatcher.submit("query", b"B?", QUERY)
    await turns()
    assert not query.done()
    return query


async def test_a_safety_write_during_resynchronisation_goes_at_once(own: Owner) -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.4)
    async with own(link) as dispatcher:
        query = await resynchronising(dispatcher)
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        await estop
        assert not link.unread or link.unread[0][0] > time.monotonic(), "before the late reply"
        assert link.payloads == [b"LATE?", b"OFF"]
        assert not query.done()
        assert await query == b"b"
    assert link.payloads == [b"LATE?", b"OFF", b"B?"]
    record = record_of(dispatcher, "estop")
    assert record.dispatch_latency_s is not None
    assert record.dispatch_latency_s < 0.2


async def test_safety_is_accepted_during_resynchronisation_when_full_and_latched(
    own: Owner,
) -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.3)
    async with own(link, max_depth=1) as dispatcher:
        await resynchronising(dispatcher)
        await dispatcher.trip("smoke")
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
        assert await (await dispatcher.submit("confirm", b"B?", SAFETY)) == b"b"
    assert link.payloads == [b"LATE?", b"OFF", b"B?"]


async def test_a_safety_query_during_resynchronisation_gets_its_own_reply(own: Owner) -> None:
    link = ScriptedLink({b"B?": b"b", b"OFF?": b"0"}).on(b"LATE?", b"stale", after_s=0.2)
    async with own(link) as dispatcher:
        query = await resynchronising(dispatcher)
        assert await (await dispatcher.submit("estop", b"OFF?", SAFETY)) == b"0"
        assert await query == b"b"
    assert link.payloads == [b"LATE?", b"OFF?", b"B?"], "and goes before what waited"


async def test_a_storm_of_different_estops_during_resynchronisation_is_sent_in_order(
    own: Owner,
) -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.3)
    async with own(link) as dispatcher:
        query = await resynchronising(dispatcher)
        for n in range(5):
            await dispatcher.submit(f"s{n}", b"S%d" % n, SAFETY)
            await asyncio.sleep(0.005)
        assert await query == b"b"
    assert link.payloads == [b"LATE?", b"S0", b"S1", b"S2", b"S3", b"S4", b"B?"]


async def test_a_query_cancelled_during_resynchronisation_is_never_sent(own: Owner) -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.15)
    async with own(link) as dispatcher:
        query = await resynchronising(dispatcher)
        query.cancel()
        assert dispatcher.pending == 0
        assert await (await dispatcher.submit("c", b"B?", QUERY)) == b"b"
    assert link.payloads == [b"LATE?", b"B?"]


async def test_stop_during_resynchronisation_cancels_what_waits(own: Owner) -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.15)
    dispatcher = own(link)
    await dispatcher.start()
    query = await resynchronising(dispatcher)
    async with asyncio.timeout(3.0):
        await dispatcher.stop()
    assert query.cancelled()
    assert link.payloads == [b"LATE?"]


async def test_a_link_that_can_not_be_resynchronised_fails_the_command_and_is_tried_again() -> None:
    class Broken(ScriptedLink):
        broken = True

        async def resynchronise(
            self, *, owed: int, lost: bool, discard: Callable[[], None]
        ) -> None:
            if self.broken:
                raise LinkLost("unplugged")
            await super().resynchronise(owed=owed, lost=lost, discard=discard)

    link = Broken({b"B?": b"b"}, resync_budget_s=0.1)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        await timed_out(dispatcher)
        with pytest.raises(LinkLost, match="unplugged"):
            await (await dispatcher.submit("b", b"B?", QUERY))
        link.broken = False
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
    assert outcomes(dispatcher) == [("late", "timeout"), ("b", "error"), ("b", "ok")]
    assert link.reopened == 1, "a link that was lost is reopened"


async def test_a_resynchronisation_that_overstays_its_budget_is_left_behind() -> None:
    class Hanging(ScriptedLink):
        async def resynchronise(
            self, *, owed: int, lost: bool, discard: Callable[[], None]
        ) -> None:
            await never()

    link = Hanging({b"B?": b"b"}, resync_budget_s=0.05)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        await timed_out(dispatcher)
        async with asyncio.timeout(3.0):
            with pytest.raises(LinkLost, match="not resynchronised"):
                await (await dispatcher.submit("b", b"B?", QUERY))


async def test_a_write_that_was_cut_short_has_the_link_reopened_first() -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"W", None, write_s=5.0)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        await timed_out(dispatcher, b"W")
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
        assert link.reopened == 1
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
    assert link.reopened == 1


async def test_a_link_that_says_it_is_lost_is_reopened_before_the_next_message() -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"A?", LinkLost("gone"))
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        with pytest.raises(LinkLost, match="gone"):
            await (await dispatcher.submit("a", b"A?", QUERY))
        await (await dispatcher.submit("set", b"SET", CONTROL))
    assert link.reopened == 1


def within_its_bound(dispatcher: SafetyAwareDispatcher, cmd_id: str) -> bool:
    record = record_of(dispatcher, cmd_id)
    return (
        record.dispatch_latency_s is not None
        and record.dispatch_latency_s <= record.bound_s + LOADED_S
    )


@pytest.mark.usefixtures("short_drain")
async def test_an_estop_that_asks_is_within_its_bound_after_a_query_that_timed_out(
    own: Owner,
) -> None:
    link = ScriptedLink({b"OFF?": b"0"}, resync_budget_s=SHORT_DRAIN_S)
    async with own(link) as dispatcher:
        await dispatcher.submit("poll", b"SILENT?", POLL, timeout=0.05)
        await until(lambda: link.sent)
        assert await (await dispatcher.submit("estop", b"OFF?", SAFETY)) == b"0"
    assert within_its_bound(dispatcher, "estop")


async def test_an_estop_is_within_its_bound_after_a_write_that_was_cut_short(own: Owner) -> None:
    link = ScriptedLink().on(b"W?", None, write_s=5.0)
    async with own(link) as dispatcher:
        await dispatcher.submit("poll", b"W?", POLL, timeout=0.05)
        await until(lambda: link.sent)
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
    assert within_its_bound(dispatcher, "estop")


async def test_an_estop_is_within_its_bound_after_a_query_whose_write_failed() -> None:
    sent: list[bytes] = []

    async def write(payload: bytes) -> None:
        if payload == b"BAD?":
            raise ValueError("bad")
        sent.append(payload)

    async def read() -> bytes:
        await never()
        return b""

    async with SafetyAwareDispatcher(read, write) as dispatcher:
        with pytest.raises(ValueError, match="bad"):
            await (await dispatcher.submit("bad", b"BAD?", QUERY))
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
    assert sent == [b"OFF"]
    assert within_its_bound(dispatcher, "estop")


async def test_an_estop_is_sent_although_an_earlier_read_never_returns() -> None:
    sent: list[bytes] = []
    release = asyncio.Event()

    async def write(payload: bytes) -> None:
        sent.append(payload)

    async def read() -> bytes:
        await stubborn(release)
        return b""

    async with SafetyAwareDispatcher(read, write) as dispatcher:
        await timed_out(dispatcher)
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        await asyncio.wait({estop}, timeout=5.0)
        release.set()
    assert sent == [b"LATE?", b"OFF"]
    assert estop.result() == b""
    assert within_its_bound(dispatcher, "estop")


@pytest.mark.usefixtures("short_drain")
async def test_callbacks_with_a_timeout_of_their_own_survive_a_query_without_an_answer() -> None:
    link = ScriptedLink({b"B?": b"b"}, resync_budget_s=SHORT_DRAIN_S)

    async def read() -> bytes:
        async with asyncio.timeout(0.05):
            return await link.read()

    async with SafetyAwareDispatcher(read, link.write) as dispatcher:
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("silent", b"SILENT?", QUERY))
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"


async def test_callbacks_with_a_timeout_of_their_own_discard_a_late_reply() -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.2)

    async def read() -> bytes:
        async with asyncio.timeout(0.05):
            return await link.read()

    async with SafetyAwareDispatcher(read, link.write) as dispatcher:
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("late", b"LATE?", QUERY))
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"


@pytest.mark.usefixtures("short_drain")
async def test_callbacks_that_raise_when_nothing_comes_survive_a_query_without_an_answer() -> None:
    link = ScriptedLink({b"B?": b"b"}, resync_budget_s=SHORT_DRAIN_S)

    async def read() -> bytes:
        if not link.unread:
            raise OSError("timeout in the driver")
        return await link.read()

    async with SafetyAwareDispatcher(read, link.write) as dispatcher:
        with pytest.raises(OSError, match="driver"):
            await (await dispatcher.submit("silent", b"SILENT?", QUERY))
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"


async def test_the_transactions_of_a_safety_job_have_a_bound_that_holds() -> None:
    link = ScriptedLink({b"OFF?": b"0"}, resync_budget_s=0.6)

    async def job(txn: Any) -> bytes:
        with pytest.raises(TransactionTimeout):
            await txn(b"SILENT?", timeout=0.04)
        reply: bytes = await txn(b"OFF?")
        return reply

    async with SafetyAwareDispatcher.on(link) as dispatcher:
        assert await dispatcher.run_job(job, SAFETY) == b"0"
    (record,) = [r for r in dispatcher.records if r.payload == b"OFF?"]
    assert record.dispatch_latency_s is not None
    assert record.dispatch_latency_s <= record.bound_s + LOADED_S
