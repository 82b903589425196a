"""What a dispatcher shows of itself: the queue, the records, the bound and the log."""

import asyncio
import dataclasses
import logging
import math
import time

import pytest
from dispatcher_helpers import (
    BLOCKED_S,
    LOADED_S,
    SHORT_DRAIN_S,
    Owner,
    outcomes,
    record_of,
    turns,
    until,
)

from pytest_safetyq import (
    BacklogFull,
    EStopLatched,
    Priority,
    SafetyAwareDispatcher,
    TransactionRecord,
    TransactionTimeout,
)
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority
NOBODY = dict.fromkeys(Priority, 0)


async def test_running_priority_is_that_of_the_transaction_in_flight(own: Owner) -> None:
    link = ScriptedLink({b"Q?": b"1"}, latency_s=0.02)
    async with own(link) as dispatcher:
        assert dispatcher.running_priority is None
        for priority in Priority:
            sent = len(link.sent)
            future = await dispatcher.submit("q", b"Q?", priority)
            await until(lambda sent=sent: len(link.sent) > sent)
            assert dispatcher.running_priority is priority
            await future
            assert dispatcher.running_priority is None


async def test_running_priority_shows_the_transactions_of_a_job(own: Owner) -> None:
    link = ScriptedLink({b"Q?": b"1"}, latency_s=0.02)
    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(lambda txn: txn(b"Q?"), CONTROL))
        await until(lambda: link.sent)
        assert dispatcher.running_priority is CONTROL
        await running


async def test_pending_counts_what_waits_and_not_what_is_in_flight(own: Owner) -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=BLOCKED_S)
    async with own(link) as dispatcher:
        assert (dispatcher.pending, dispatcher.pending_by_priority) == (0, NOBODY)
        await dispatcher.submit("block", b"BLOCK?", QUERY)
        await until(lambda: link.sent)
        assert (dispatcher.pending, dispatcher.pending_by_priority) == (0, NOBODY)
        for n, priority in enumerate([SAFETY, POLL, POLL, CONTROL, POLL]):
            await dispatcher.submit(str(n), b"X", priority)
        assert dispatcher.pending == 5
        assert dispatcher.pending_by_priority == {SAFETY: 1, CONTROL: 1, QUERY: 0, POLL: 3}
        await until(lambda: dispatcher.pending == 0)
        assert dispatcher.pending_by_priority == NOBODY


async def test_dwell_is_the_longest_wait_among_those_that_wait_now(own: Owner) -> None:
    dispatcher = own(ScriptedLink())
    assert dispatcher.dwell_s == dict.fromkeys(Priority, 0.0)
    first = await dispatcher.submit("p1", b"P", POLL)
    await asyncio.sleep(0.05)
    await dispatcher.submit("p2", b"P", POLL)
    await dispatcher.submit("c", b"C", CONTROL)
    dwell_s = dispatcher.dwell_s
    assert dwell_s[POLL] >= 0.049
    assert 0.0 <= dwell_s[CONTROL] < dwell_s[POLL]
    assert dwell_s[SAFETY] == dwell_s[QUERY] == 0.0
    first.cancel()
    assert dispatcher.dwell_s[POLL] < dwell_s[POLL], "the one that waited longest has gone"
    await dispatcher.stop()


async def test_a_record_has_every_station_in_order(own: Owner) -> None:
    link = ScriptedLink({b"Q?": b"1"}, latency_s=0.02, write_s=0.02)
    before = time.monotonic()
    async with own(link, name="smu") as dispatcher:
        await (await dispatcher.submit("q", b"Q?", QUERY, timeout=3.0))
    record = record_of(dispatcher, "q")
    assert (record.instrument, record.payload, record.outcome) == ("smu", b"Q?", "ok")
    assert (record.priority, record.effective_priority) == (QUERY, QUERY)
    assert record.dispatched_s is not None
    assert record.written_s is not None
    assert record.finished_s is not None
    assert before <= record.submitted_s <= record.dispatched_s
    assert record.dispatched_s + 0.019 <= record.written_s
    assert record.written_s + 0.019 <= record.finished_s <= time.monotonic()
    assert record.dispatch_latency_s == record.dispatched_s - record.submitted_s
    assert record.service_s == record.finished_s - record.dispatched_s
    assert record.dispatched_s == pytest.approx(link.sent[0].at_s, abs=LOADED_S)
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.outcome = "error"  # type: ignore[misc]


@pytest.mark.usefixtures("short_drain")
async def test_a_record_says_how_far_a_timed_out_command_got(own: Owner) -> None:
    link = ScriptedLink(resync_budget_s=SHORT_DRAIN_S).on(b"W?", b"1", write_s=5.0)
    async with own(link) as dispatcher:
        for payload in (b"R?", b"W?"):
            with pytest.raises(TransactionTimeout):
                await (await dispatcher.submit(payload.decode(), payload, QUERY, timeout=0.03))
    unread, unwritten = record_of(dispatcher, "R?"), record_of(dispatcher, "W?")
    assert (unread.outcome, unwritten.outcome) == ("timeout", "timeout")
    assert unread.written_s is not None
    assert unwritten.dispatched_s is not None
    assert unwritten.written_s is None
    assert unwritten.finished_s is not None


@pytest.mark.usefixtures("short_drain")
async def test_every_outcome_of_a_message_appears_in_the_records(own: Owner) -> None:
    link = ScriptedLink({b"OFF?": b"0"}, resync_budget_s=SHORT_DRAIN_S).on(
        b"BAD?", ValueError("bad")
    )
    link.on(b"SLOW?", b"1", after_s=0.03)
    async with own(link, max_depth=1) as dispatcher:
        await (await dispatcher.submit("ok", b"X", CONTROL))
        await dispatcher.submit("slow", b"SLOW?", QUERY)
        await until(lambda: len(link.sent) == 2)
        (await dispatcher.submit("cancelled", b"X", POLL)).cancel()
        bad = await dispatcher.submit("error", b"BAD?", QUERY)
        with pytest.raises(BacklogFull):
            await dispatcher.submit("refused", b"X", POLL)
        with pytest.raises(ValueError, match="bad"):
            await bad
        off = [await dispatcher.submit("off", b"OFF?", SAFETY, timeout=2.0) for _ in range(2)]
        await asyncio.gather(*off)
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("timeout", b"SILENT?", QUERY, timeout=0.03))
    assert outcomes(dispatcher) == [
        ("ok", "ok"),
        ("cancelled", "cancelled"),
        ("refused", "refused"),
        ("slow", "ok"),
        ("error", "error"),
        ("off", "ok"),
        ("off", "coalesced"),
        ("timeout", "timeout"),
    ]


@pytest.mark.parametrize("history", [1, 3])
async def test_the_last_records_are_kept_oldest_first(own: Owner, history: int) -> None:
    async with own(ScriptedLink(), history=history) as dispatcher:
        for n in range(5):
            await (await dispatcher.submit(f"c{n}", b"X", CONTROL))
        assert [r.cmd_id for r in dispatcher.records] == [f"c{n}" for n in range(5)][-history:]


async def test_the_records_handed_out_are_not_the_dispatchers_own_list(own: Owner) -> None:
    async with own(ScriptedLink()) as dispatcher:
        await (await dispatcher.submit("c", b"X", CONTROL))
        dispatcher.records.clear()
        assert len(dispatcher.records) == 1


async def test_the_bound_of_an_idle_dispatcher_is_zero(own: Owner) -> None:
    async with own(ScriptedLink()) as dispatcher:
        assert [dispatcher.worst_case_s(p) for p in Priority] == [0.0] * 4
        assert dispatcher.worst_case_s() == 0.0


async def test_the_bound_is_the_rest_in_flight_and_the_safety_ahead(own: Owner) -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=BLOCKED_S)
    async with own(link, tau_age=0.0) as dispatcher:
        await dispatcher.submit("block", b"BLOCK?", POLL, timeout=2.0)
        await until(lambda: link.sent)
        for n in range(50):
            await dispatcher.submit(f"p{n}", b"P", POLL, timeout=100.0)
        assert 1.0 < dispatcher.worst_case_s() <= 2.0
        await dispatcher.submit("c", b"C", CONTROL, timeout=7.0)
        await dispatcher.submit("s", b"S", SAFETY, timeout=16.0)
        rest_s = dispatcher.worst_case_s(SAFETY) - 16.0
        assert 1.0 < rest_s <= 2.0
        assert dispatcher.worst_case_s(CONTROL) == pytest.approx(rest_s + 23.0, abs=0.5)
        assert dispatcher.worst_case_s(QUERY) == pytest.approx(rest_s + 23.0, abs=0.5)
        assert dispatcher.worst_case_s(POLL) == pytest.approx(rest_s + 5023.0, abs=0.5)
        await dispatcher.trip("enough")


async def test_the_bound_shrinks_while_the_transaction_in_flight_lasts(own: Owner) -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=BLOCKED_S)
    async with own(link) as dispatcher:
        await dispatcher.submit("block", b"BLOCK?", POLL, timeout=1.0)
        await until(lambda: link.sent)
        before_s = dispatcher.worst_case_s()
        await asyncio.sleep(0.03)
        assert dispatcher.worst_case_s() <= before_s - 0.029


async def test_the_delay_after_a_write_is_inside_the_budget_and_so_in_the_bound(
    own: Owner,
) -> None:
    async with own(ScriptedLink(), inter_command_delay=0.05) as dispatcher:
        first = await dispatcher.submit("first", b"X", POLL, timeout=1.0)
        await turns()
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        await asyncio.gather(first, estop)
    record = record_of(dispatcher, "estop")
    assert record.dispatch_latency_s is not None
    assert 0.03 < record.dispatch_latency_s <= record.bound_s <= 1.0


async def test_a_job_without_a_budget_bounds_nothing_but_what_preempts_it(own: Owner) -> None:
    link = ScriptedLink()
    go_on = asyncio.Event()

    async def job(txn: object) -> None:
        await go_on.wait()

    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(job, QUERY))
        await turns()
        assert dispatcher.worst_case_s(QUERY) == dispatcher.worst_case_s(POLL) == math.inf
        assert dispatcher.worst_case_s(SAFETY) == dispatcher.worst_case_s(CONTROL) == 0.0
        go_on.set()
        await running


async def test_each_command_that_is_dequeued_is_logged_once_with_both_priorities(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "pytest_safetyq.dispatcher")
    dispatcher = own(ScriptedLink(), name="smu", tau_age=0.01)
    await dispatcher.submit("aged", b"P", POLL)
    await asyncio.sleep(0.03)
    await dispatcher.submit("estop", b"OFF", SAFETY)
    (await dispatcher.submit("gone", b"G", QUERY)).cancel()
    async with dispatcher:
        await until(lambda: len(dispatcher.records) == 3)
    lines = [r.message for r in caplog.records if r.levelno == logging.DEBUG]
    assert len(lines) == 2
    assert all("smu" in line for line in lines)
    assert "estop" in lines[0]
    assert lines[0].count("SAFETY") == 2
    assert "aged" in lines[1]
    assert "base POLL" in lines[1]
    assert "effective CONTROL" in lines[1]


async def test_a_command_that_waits_for_resynchronisation_is_logged_once_too(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "pytest_safetyq.dispatcher")
    link = ScriptedLink({b"B?": b"b"}).on(b"A?", b"a", after_s=0.08)
    async with own(link) as dispatcher:
        await dispatcher.submit("first", b"A?", QUERY, timeout=0.03)
        assert await (await dispatcher.submit("second", b"B?", QUERY)) == b"b"
    lines = [r.message for r in caplog.records if r.levelno == logging.DEBUG]
    assert [("first" in line, "second" in line) for line in lines] == [
        (True, False),
        (False, True),
    ]


async def test_without_debug_logging_nothing_is_logged(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pytest_safetyq.dispatcher")
    async with own(ScriptedLink()) as dispatcher:
        await (await dispatcher.submit("c", b"X", CONTROL))
    assert caplog.records == []


async def test_listeners_hear_every_record() -> None:
    heard: list[str] = []
    async with SafetyAwareDispatcher.on(ScriptedLink(), history=1) as dispatcher:
        dispatcher.subscribe(lambda record: heard.append(record.cmd_id))
        for n in range(3):
            await (await dispatcher.submit(f"c{n}", b"X", CONTROL))
    assert heard == ["c0", "c1", "c2"]


async def test_a_listener_that_raises_harms_nobody_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[str] = []

    def faulty(record: TransactionRecord) -> None:
        raise ZeroDivisionError("the listener's own")

    link = ScriptedLink({b"Q?": b"1"})
    async with SafetyAwareDispatcher.on(link, name="smu") as dispatcher:
        dispatcher.subscribe(faulty)
        dispatcher.subscribe(lambda record: heard.append(f"{record.cmd_id} {record.outcome}"))
        assert await (await dispatcher.submit("q", b"Q?", QUERY)) == b"1"
        (await dispatcher.submit("gone", b"X", POLL)).cancel()
        await dispatcher.trip("smoke")
        with pytest.raises(EStopLatched):
            await dispatcher.submit("no", b"X", POLL)
        assert await (await dispatcher.submit("estop", b"OFF", SAFETY)) == b""
    assert heard == ["q ok", "gone cancelled", "no refused", "estop ok"]
    logged = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert len(logged) == 4
    assert all("smu" in r.message for r in logged)
    assert all("the listener's own" in str(r.exc_info) for r in logged)
    assert link.payloads == [b"Q?", b"OFF"]
