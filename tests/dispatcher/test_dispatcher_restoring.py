"""What an E-stop does to a resynchronisation, and what a failing one does to an E-stop."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from dispatcher_helpers import LOADED_S, Owner, never, record_of, stubborn, turns, until

from pytest_safetyq import LinkLost, Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.dispatcher.exchange import Exchange
from pytest_safetyq.links import ScriptedLink
from pytest_safetyq.scheduling import Condition

SAFETY, CONTROL, QUERY, POLL = Priority


class Unrestorable(ScriptedLink):
    """A link that can't be resynchronised, and says so with ``error``."""

    def __init__(self, error: Exception, **settings: Any) -> None:
        super().__init__({b"OFF?": b"0"}, **settings)
        self.error = error
        self.tried: list[tuple[int, bool]] = []

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        self.tried.append((owed, lost))
        raise self.error


async def time_out(dispatcher: SafetyAwareDispatcher, *payloads: bytes) -> None:
    """Send queries whose replies are late, with nothing drained in between."""

    async def job(txn: Any) -> None:
        for payload in payloads:
            reply = asyncio.ensure_future(txn(payload, timeout=0.03))
            with pytest.raises(TransactionTimeout):
                await reply

    await dispatcher.run_job(job, QUERY)


async def test_a_drain_broken_off_keeps_its_count_and_what_is_still_owed() -> None:
    link = ScriptedLink({b"B?": b"b"})
    link.on(b"LATE1?", b"stale1", after_s=0.1).on(b"LATE2?", b"stale2", after_s=0.3)
    exchange = Exchange("smu", link, delay_s=0.0)
    for payload in (b"LATE1?", b"LATE2?"):
        with pytest.raises(TransactionTimeout):
            await exchange.transact(payload, expects_reply=True, budget_s=0.03)
    restoring = asyncio.create_task(exchange.restore(expects_reply=True))
    await until(lambda: exchange.discarded == 1)
    restoring.cancel()
    await asyncio.wait({restoring})
    assert (exchange.discarded, exchange.condition) == (1, Condition.DIRTY)
    await exchange.transact(b"OFF", expects_reply=False, budget_s=1.0)
    assert exchange.condition is Condition.DIRTY
    started = time.monotonic()
    await exchange.restore(expects_reply=True)
    assert time.monotonic() - started < 0.4, "one more was owed, not two"
    assert (exchange.discarded, exchange.condition) == (2, Condition.CLEAN)
    assert await exchange.transact(b"B?", expects_reply=True, budget_s=1.0) == b"b"


async def test_many_estops_break_off_one_drain_and_the_late_reply_is_counted_once(
    own: Owner,
) -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.25)
    async with own(link) as dispatcher:
        await time_out(dispatcher, b"LATE?")
        query = await dispatcher.submit("query", b"B?", QUERY)
        for n in range(4):
            await turns()
            await (await dispatcher.submit(f"estop {n}", b"OFF", SAFETY))
        assert dispatcher.discarded_replies == 0
        assert await query == b"b"
        assert dispatcher.discarded_replies == 1
    assert link.payloads == [b"LATE?", *[b"OFF"] * 4, b"B?"]


@pytest.mark.usefixtures("short_drain")
async def test_a_reply_that_is_never_sent_is_waited_for_once_and_not_owed_for_ever(
    own: Owner,
) -> None:
    link = ScriptedLink({b"B?": b"b"}, resync_budget_s=0.1)
    async with own(link) as dispatcher:
        await time_out(dispatcher, b"SILENT?")
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
        started = time.monotonic()
        assert await (await dispatcher.submit("c", b"B?", QUERY)) == b"b"
        assert time.monotonic() - started < LOADED_S
        assert dispatcher.discarded_replies == 0


async def test_errors_of_a_driver_during_a_drain_are_silences_and_the_late_reply_is_discarded() -> (
    None
):
    link = ScriptedLink({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.15)
    errors = 0

    async def read() -> bytes:
        nonlocal errors
        try:
            async with asyncio.timeout(0.02):
                return await link.read()
        except TimeoutError:
            errors += 1
            raise ValueError("the driver's own way to say: nothing came") from None

    async with SafetyAwareDispatcher(read, link.write) as dispatcher:
        with pytest.raises(ValueError, match="nothing came"):
            await (await dispatcher.submit("late", b"LATE?", QUERY))
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
        assert dispatcher.discarded_replies == 1
    assert errors > 1
    assert link.payloads == [b"LATE?", b"B?"]


async def test_an_estop_breaks_off_a_drain_whose_driver_only_raises() -> None:
    link = ScriptedLink()

    async def read() -> bytes:
        raise ValueError("nothing came")

    async with SafetyAwareDispatcher(read, link.write) as dispatcher:
        with pytest.raises(ValueError, match="nothing came"):
            await (await dispatcher.submit("silent", b"SILENT?", QUERY))
        query = await dispatcher.submit("query", b"B?", QUERY)
        await turns()
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
        assert link.payloads == [b"SILENT?", b"OFF"]
        query.cancel()
    latency_s = record_of(dispatcher, "estop").dispatch_latency_s
    assert latency_s is not None
    assert latency_s < 0.4, "the drain would have taken 0.5 s"


RESTORE_ERRORS = [LinkLost("unplugged"), ConnectionResetError("unplugged"), KeyError("unplugged")]


@pytest.mark.parametrize("error", RESTORE_ERRORS, ids=lambda e: type(e).__name__)
async def test_a_safety_write_is_sent_despite_a_link_that_can_not_be_restored(
    error: Exception,
) -> None:
    link = Unrestorable(error)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        dispatcher.distrust(lost=True)
        assert await (await dispatcher.submit("estop", b"OFF", SAFETY)) == b""
        assert record_of(dispatcher, "estop").outcome == "ok"
        assert link.tried == [(0, True)], "it was tried, once, and reads nothing"
        with pytest.raises(type(error), match="unplugged"):
            await (await dispatcher.submit("set", b"SET", CONTROL))
    assert link.payloads == [b"OFF"], "and nothing but SAFETY"


async def test_a_safety_query_needs_a_link_that_can_be_restored() -> None:
    link = Unrestorable(LinkLost("unplugged"))
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        dispatcher.distrust(lost=False)
        with pytest.raises(LinkLost, match="unplugged"):
            await (await dispatcher.submit("confirm", b"OFF?", SAFETY))
        assert record_of(dispatcher, "confirm").outcome == "error"
    assert link.payloads == []


async def test_the_write_of_a_safety_job_is_sent_despite_it_too() -> None:
    link = Unrestorable(LinkLost("unplugged"))

    async def job(txn: Any) -> None:
        await txn(b"OFF")
        with pytest.raises(LinkLost, match="unplugged"):
            await txn(b"OFF?")

    async with SafetyAwareDispatcher.on(link) as dispatcher:
        dispatcher.distrust(lost=True)
        await dispatcher.run_job(job, SAFETY)
    assert link.payloads == [b"OFF"]


class Hanging(ScriptedLink):
    """A link whose restoration never returns."""

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        await never()


async def test_a_restoration_that_hangs_holds_a_safety_write_for_its_budget_and_no_longer() -> None:
    link = Hanging(resync_budget_s=0.1)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        dispatcher.distrust(lost=True)
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
    record = record_of(dispatcher, "estop")
    assert link.payloads == [b"OFF"]
    assert record.bound_s == pytest.approx(0.1)
    assert record.dispatch_latency_s is not None
    assert 0.099 <= record.dispatch_latency_s <= record.bound_s + LOADED_S


async def test_each_of_several_estops_is_within_its_bound_on_a_link_that_stays_lost() -> None:
    link = Hanging(resync_budget_s=0.3)
    names = ["channel 1", "channel 2", "channel 3"]
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        dispatcher.distrust(lost=True)
        for name in names:
            await dispatcher.submit(name, name.encode(), SAFETY, timeout=0.1)
    records = [record_of(dispatcher, name) for name in names]
    assert link.payloads == [name.encode() for name in names]
    assert [r.bound_s for r in records] == pytest.approx([0.3, 0.4 + 0.3, 0.8 + 0.3], abs=0.05)
    for record in records:
        assert record.dispatch_latency_s is not None
        assert record.dispatch_latency_s <= record.bound_s + LOADED_S


async def test_the_bound_for_a_command_submitted_now_counts_a_link_that_is_lost() -> None:
    link = ScriptedLink(resync_budget_s=0.3)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        assert dispatcher.worst_case_s() == 0.0
        dispatcher.distrust(lost=False)
        assert dispatcher.worst_case_s() == 0.0, "a dirty link still takes a message"
        dispatcher.distrust(lost=True)
        assert dispatcher.worst_case_s() == 0.3
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
        assert dispatcher.worst_case_s() == 0.0


async def test_a_call_that_was_left_behind_is_waited_for_within_the_declared_budget(
    release: asyncio.Event,
) -> None:
    class Stubborn(ScriptedLink):
        async def read(self) -> bytes:
            await stubborn(release)
            return b"late"

        async def resynchronise(
            self, *, owed: int, lost: bool, discard: Callable[[], None]
        ) -> None:
            await never()

    exchange = Exchange("smu", Stubborn(resync_budget_s=0.6), delay_s=0.0)
    with pytest.raises(TransactionTimeout):
        await exchange.transact(b"Q?", expects_reply=True, budget_s=0.02)
    asyncio.get_running_loop().call_later(0.3, release.set)
    begun_s = time.monotonic()
    with pytest.raises(LinkLost, match="not resynchronised within"):
        await exchange.restore(expects_reply=True)
    assert 0.6 <= time.monotonic() - begun_s + 0.001 < 0.6 + 0.28


@pytest.mark.parametrize(
    ("lost", "payload", "recovers"),
    [
        (False, b"OFF", False),
        (False, b"OFF?", True),
        (True, b"OFF", True),
        (True, b"OFF?", True),
        (None, b"OFF", False),
        (None, b"OFF?", False),
    ],
)
async def test_the_bound_counts_the_restoration_that_the_command_needs(
    own: Owner, lost: bool | None, payload: bytes, recovers: bool
) -> None:
    link = ScriptedLink({b"OFF?": b"0"})
    async with own(link) as dispatcher:
        if lost is not None:
            dispatcher.distrust(lost=lost)
        await (await dispatcher.submit("estop", payload, SAFETY))
    assert record_of(dispatcher, "estop").bound_s == (0.5 if recovers else 0.0)


async def test_a_link_taken_for_lost_stays_lost_when_it_is_then_taken_for_dirty() -> None:
    link = ScriptedLink({b"B?": b"b"})
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        dispatcher.distrust(lost=True)
        dispatcher.distrust(lost=False)
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
    assert (link.resynchronised, link.reopened) == (1, 1)


async def test_a_lost_link_reopened_for_an_estop_is_still_drained_before_a_query_counts() -> None:
    class Queueing(ScriptedLink):
        """Its instrument keeps unread replies, whatever becomes of the path."""

        async def resynchronise(
            self, *, owed: int, lost: bool, discard: Callable[[], None]
        ) -> None:
            self.reopened += lost
            await super().resynchronise(owed=owed, lost=False, discard=discard)

    link = Queueing({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.2)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        await time_out(dispatcher, b"LATE?")
        dispatcher.distrust(lost=True)
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
        assert (link.reopened, dispatcher.discarded_replies) == (1, 0)
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
        assert (link.reopened, dispatcher.discarded_replies) == (1, 1)
