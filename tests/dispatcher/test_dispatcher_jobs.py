"""`run_job`: several transactions with nothing in between, that give way when they must."""

import asyncio
import contextlib
import time
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

from pytest_safetyq import (
    EStopLatched,
    Preempted,
    Priority,
    SafetyAwareDispatcher,
    SafetyError,
    TransactionTimeout,
)
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority
TXN = Any


async def test_a_job_gets_its_replies_and_returns_its_result(own: Owner) -> None:
    link = ScriptedLink({b"A?": b"a", b"B?": b"b"})

    async def job(txn: TXN) -> list[bytes]:
        return [
            await txn(b"A?"),
            await txn(b"SET 1"),
            await txn(b"B?", timeout=1.0),
            await txn(b"A?", expect_reply=False),
        ]

    async with own(link) as dispatcher:
        assert await dispatcher.run_job(job, CONTROL) == [b"a", b"", b"b", b""]
    assert link.payloads == [b"A?", b"SET 1", b"B?", b"A?"]


@pytest.mark.parametrize("other", [QUERY, POLL])
async def test_nothing_of_the_same_or_less_urgency_comes_between(
    own: Owner, other: Priority
) -> None:
    link = ScriptedLink()

    async def job(txn: TXN) -> None:
        for n in range(3):
            await txn(b"J%d" % n)
            await dispatcher.submit(f"o{n}", b"O%d" % n, other)
            await asyncio.sleep(0.005)

    async with own(link, tau_age=0.001) as dispatcher:
        await dispatcher.run_job(job, QUERY)
        await until(lambda: len(link.sent) == 6)
    assert link.payloads == [b"J0", b"J1", b"J2", b"O0", b"O1", b"O2"]


async def test_two_jobs_do_not_interleave(own: Owner) -> None:
    link = ScriptedLink()

    async def job(txn: TXN, name: bytes) -> None:
        for _ in range(3):
            await txn(name)
            await asyncio.sleep(0.002)

    async with own(link) as dispatcher:
        await asyncio.gather(
            dispatcher.run_job(lambda txn: job(txn, b"A"), QUERY),
            dispatcher.run_job(lambda txn: job(txn, b"B"), QUERY),
        )
    assert link.payloads == [b"A"] * 3 + [b"B"] * 3


@pytest.mark.parametrize("intruder", [SAFETY, CONTROL])
async def test_a_job_gives_way_at_its_next_transaction_boundary(
    own: Owner, intruder: Priority
) -> None:
    link = ScriptedLink({b"J1?": b"1", b"J2?": b"2"}, latency_s=0.03)
    events: list[object] = []

    async def job(txn: TXN) -> None:
        try:
            events.append(await txn(b"J1?"))
            await txn(b"J2?")
            events.append("went on")
        except Preempted:
            events.append("preempted inside")
            raise
        finally:
            events.append("finally")

    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(job, QUERY))
        await until(lambda: link.sent)
        urgent = await dispatcher.submit("urgent", b"URGENT", intruder)
        await urgent
        with pytest.raises(Preempted, match="urgent"):
            await running
    assert events == [b"1", "preempted inside", "finally"]
    assert link.payloads == [b"J1?", b"URGENT"]


async def test_a_preempted_job_does_not_go_on_although_it_swallows_the_exception(
    own: Owner,
) -> None:
    link = ScriptedLink()
    refused = 0

    async def job(txn: TXN) -> None:
        nonlocal refused
        await txn(b"J0")
        await dispatcher.submit("urgent", b"URGENT", SAFETY)
        for _ in range(3):
            try:
                await txn(b"MORE")
            except Preempted:
                refused += 1
        await txn(b"MORE")

    async with own(link) as dispatcher:
        with pytest.raises(Preempted):
            await dispatcher.run_job(job, QUERY)
    assert refused == 3
    assert link.payloads == [b"J0", b"URGENT"]


async def test_an_equally_urgent_command_does_not_preempt(own: Owner) -> None:
    link = ScriptedLink()

    async def job(txn: TXN) -> str:
        await txn(b"J0")
        await dispatcher.submit("same", b"SAME", CONTROL)
        await txn(b"J1")
        return "done"

    async with own(link) as dispatcher:
        assert await dispatcher.run_job(job, CONTROL) == "done"
        await until(lambda: len(link.sent) == 3)
    assert link.payloads == [b"J0", b"J1", b"SAME"]


async def test_a_more_urgent_job_preempts_a_job(own: Owner) -> None:
    link = ScriptedLink()

    async def slow(txn: TXN) -> None:
        while True:
            await txn(b"SLOW")
            await asyncio.sleep(0.002)

    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(slow, POLL))
        await until(lambda: link.sent)
        await dispatcher.run_job(lambda txn: txn(b"URGENT"), CONTROL)
        with pytest.raises(Preempted):
            await running
        count = len(link.sent)
        await asyncio.sleep(0.01)
    assert link.payloads[-1] == b"URGENT"
    assert len(link.sent) == count


async def test_safety_is_not_held_up_by_a_job_that_is_busy_with_something_else(
    own: Owner,
) -> None:
    link = ScriptedLink()
    go_on = asyncio.Event()

    async def job(txn: TXN) -> None:
        await txn(b"J0")
        await go_on.wait()
        await txn(b"J1")

    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(job, CONTROL))
        await until(lambda: link.payloads == [b"J0"])
        await turns()
        assert dispatcher.worst_case_s(SAFETY) == 0.0
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        async with asyncio.timeout(2.0):
            await estop
        assert not running.done(), "the job has not noticed yet"
        go_on.set()
        with pytest.raises(Preempted):
            await running
    assert link.payloads == [b"J0", b"OFF"]


async def test_a_job_preempted_before_its_first_transaction_sends_nothing(own: Owner) -> None:
    link = ScriptedLink()

    async def job(txn: TXN) -> None:
        await dispatcher.submit("estop", b"OFF", SAFETY)
        await txn(b"J0")

    async with own(link) as dispatcher:
        with pytest.raises(Preempted):
            await dispatcher.run_job(job, CONTROL)
    assert link.payloads == [b"OFF"]


async def test_a_job_that_waits_for_a_late_reply_gives_way_at_once(own: Owner) -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"LATE?", b"stale", after_s=0.4)

    async def job(txn: TXN) -> None:
        with contextlib.suppress(TransactionTimeout):
            await txn(b"LATE?", timeout=0.03)
        await txn(b"B?")

    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(job, QUERY))
        await until(lambda: dispatcher.records)
        await turns()
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
        done, _ = await asyncio.wait({running}, timeout=2.0)
        running.cancel()
        assert done == {running}
        assert isinstance(running.exception(), Preempted)
    assert link.payloads == [b"LATE?", b"OFF"]


async def test_an_error_in_a_job_is_the_callers_and_frees_the_link(own: Owner) -> None:
    link = ScriptedLink()

    async def job(txn: TXN) -> None:
        await txn(b"J0")
        raise ZeroDivisionError("mine")

    async with own(link) as dispatcher:
        with pytest.raises(ZeroDivisionError, match="mine"):
            await dispatcher.run_job(job, QUERY)
        assert await (await dispatcher.submit("next", b"NEXT", QUERY)) == b""


@pytest.mark.usefixtures("short_drain")
async def test_a_transaction_that_times_out_raises_in_the_job_which_may_go_on(
    own: Owner,
) -> None:
    link = ScriptedLink({b"B?": b"b"}, resync_budget_s=SHORT_DRAIN_S)

    async def job(txn: TXN) -> bytes:
        with pytest.raises(TransactionTimeout):
            await txn(b"SILENT?", timeout=0.03)
        reply: bytes = await txn(b"B?")
        return reply

    async with own(link) as dispatcher:
        assert await dispatcher.run_job(job, CONTROL) == b"b"


async def test_a_bad_argument_raises_in_the_job(own: Owner) -> None:
    link = ScriptedLink()

    async def job(txn: TXN) -> None:
        with pytest.raises(TypeError):
            await txn("text")
        with pytest.raises(ValueError, match="timeout"):
            await txn(b"X", timeout=0)
        await txn(b"FINE")

    async with own(link) as dispatcher:
        await dispatcher.run_job(job, QUERY)
    assert link.payloads == [b"FINE"]


async def test_a_cancelled_caller_ends_the_job_and_frees_the_link(own: Owner) -> None:
    link = ScriptedLink()
    events: list[str] = []

    async def job(txn: TXN) -> None:
        try:
            await txn(b"J0")
            await never()
        finally:
            events.append("finally")

    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(job, QUERY))
        await until(lambda: link.sent)
        await turns()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert events == ["finally"]
        assert await (await dispatcher.submit("next", b"NEXT", POLL)) == b""
    assert link.payloads == [b"J0", b"NEXT"]


async def test_a_cancelled_job_never_continues_although_it_swallows_the_cancellation(
    own: Owner,
) -> None:
    link = ScriptedLink()

    async def job(txn: TXN) -> None:
        await txn(b"J0")
        try:
            await never()
        except asyncio.CancelledError:
            await txn(b"MORE")

    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(job, QUERY))
        await until(lambda: link.sent)
        await turns()
        running.cancel()
        await asyncio.wait({running}, timeout=2.0)
        assert running.done()
        assert running.cancelled() or isinstance(running.exception(), SafetyError)
    assert link.payloads == [b"J0"]


async def test_a_job_cancelled_during_a_transaction_leaves_its_reply_to_nobody(
    own: Owner,
) -> None:
    link = ScriptedLink({b"J?": b"j", b"B?": b"b"}, latency_s=0.03)
    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(lambda txn: txn(b"J?"), QUERY))
        await until(lambda: link.sent)
        running.cancel()
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
        assert running.cancelled()
    assert link.payloads == [b"J?", b"B?"]


async def test_a_job_that_is_cancelled_while_it_waits_leaves_the_queue(own: Owner) -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=0.05)
    started = False

    async def job(txn: TXN) -> None:
        nonlocal started
        started = True

    async with own(link) as dispatcher:
        await dispatcher.submit("block", b"BLOCK?", QUERY)
        await until(lambda: link.sent)
        running = asyncio.create_task(dispatcher.run_job(job, CONTROL))
        await turns()
        assert dispatcher.pending == 1
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert dispatcher.pending == 0
        assert await (await dispatcher.submit("next", b"NEXT", POLL)) == b""
    assert not started
    assert ("block", "ok") in outcomes(dispatcher)
    assert [o for n, o in outcomes(dispatcher) if n not in ("block", "next")] == ["cancelled"]


@pytest.mark.parametrize("turns_before", range(6))
async def test_a_job_may_be_cancelled_at_any_turn_on_its_way_to_the_link(
    own: Owner, turns_before: int
) -> None:
    link = ScriptedLink()
    async with own(link) as dispatcher:
        await asyncio.sleep(0.005)
        running = asyncio.create_task(dispatcher.run_job(lambda txn: txn(b"J0"), QUERY))
        await turns(turns_before)
        running.cancel()
        await asyncio.wait({running}, timeout=2.0)
        assert running.done()
        # The dispatcher has survived it.
        assert await (await dispatcher.submit("next", b"NEXT", POLL)) == b""


async def test_the_budget_of_a_job_ends_it_at_the_caller(own: Owner) -> None:
    link = ScriptedLink()
    cleaned = False

    async def job(txn: TXN) -> None:
        nonlocal cleaned
        await txn(b"J0")
        try:
            await never()
        finally:
            cleaned = True

    async with own(link) as dispatcher:
        started = time.monotonic()
        with pytest.raises(TransactionTimeout, match=r"budget of 0\.05 s"):
            await dispatcher.run_job(job, QUERY, timeout=0.05)
        assert time.monotonic() - started < 2.0
        assert await (await dispatcher.submit("next", b"NEXT", QUERY)) == b""
    assert cleaned


async def test_the_budget_of_a_job_starts_when_it_has_the_link(own: Owner) -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=0.3)
    async with own(link) as dispatcher:
        await dispatcher.submit("block", b"BLOCK?", QUERY)
        await until(lambda: link.sent)
        assert await dispatcher.run_job(lambda txn: txn(b"J0"), QUERY, timeout=0.2) == b""


async def test_a_timeout_of_the_jobs_own_is_not_mistaken_for_its_budget(own: Owner) -> None:
    async def job(txn: TXN) -> None:
        await txn(b"J0")
        raise TimeoutError("my own")

    async with own(ScriptedLink()) as dispatcher:
        with pytest.raises(TimeoutError, match="my own") as caught:
            await dispatcher.run_job(job, QUERY, timeout=5.0)
    assert not isinstance(caught.value, TransactionTimeout)


@pytest.mark.parametrize("budget_s", [0, -1.0, float("nan"), float("inf")])
async def test_a_budget_that_can_not_be_one_is_refused(own: Owner, budget_s: float) -> None:
    async with own(ScriptedLink()) as dispatcher:
        with pytest.raises(ValueError, match="timeout"):
            await dispatcher.run_job(lambda txn: txn(b"X"), QUERY, timeout=budget_s)
        assert dispatcher.pending == 0


async def test_a_transaction_after_the_end_of_the_job_is_refused(own: Owner) -> None:
    link = ScriptedLink()
    kept: list[TXN] = []

    async def job(txn: TXN) -> None:
        kept.append(txn)

    async with own(link) as dispatcher:
        await dispatcher.run_job(job, QUERY)
        with pytest.raises(Preempted, match="ended"):
            await kept[0](b"LATE")
    assert link.payloads == []


async def test_a_latched_dispatcher_refuses_jobs_but_for_safety(own: Owner) -> None:
    link = ScriptedLink()
    async with own(link) as dispatcher:
        await dispatcher.trip("smoke")
        for priority in (CONTROL, QUERY, POLL):
            with pytest.raises(EStopLatched, match="smoke"):
                await dispatcher.run_job(lambda txn: txn(b"J"), priority)
        assert await dispatcher.run_job(lambda txn: txn(b"OFF"), SAFETY) == b""
    assert link.payloads == [b"OFF"]


async def test_a_trip_stops_a_running_job_and_one_that_waits(own: Owner) -> None:
    link = ScriptedLink({b"J?": b"1"}, latency_s=0.02)

    async def job(txn: TXN) -> None:
        while True:
            await txn(b"J?")

    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(job, CONTROL))
        await until(lambda: link.sent)
        waiting = asyncio.create_task(dispatcher.run_job(job, CONTROL))
        await turns()
        sent = len(link.sent)
        assert await dispatcher.trip("smoke") == 1
        results = await asyncio.gather(running, waiting, return_exceptions=True)
    assert [type(result) for result in results] == [EStopLatched, EStopLatched]
    assert link.payloads == [b"J?"] * sent


async def test_stop_ends_a_running_job_at_its_boundary(own: Owner) -> None:
    link = ScriptedLink({b"J?": b"1"}, latency_s=0.02)

    async def job(txn: TXN) -> None:
        while True:
            await txn(b"J?")

    dispatcher = own(link)
    await dispatcher.start()
    running = asyncio.create_task(dispatcher.run_job(job, CONTROL))
    await until(lambda: link.sent)
    async with asyncio.timeout(2.0):
        await dispatcher.stop()
        (result,) = await asyncio.gather(running, return_exceptions=True)
    assert isinstance(result, SafetyError)
    assert link.payloads == [b"J?"]


async def test_a_job_whose_worker_has_died_is_told_at_its_next_transaction(own: Owner) -> None:
    link = ScriptedLink()
    go_on = asyncio.Event()

    async def job(txn: TXN) -> None:
        await txn(b"J0")
        await go_on.wait()
        await txn(b"J1")

    dispatcher = own(link, name="doomed")
    await dispatcher.start()
    running = asyncio.create_task(dispatcher.run_job(job, CONTROL))
    await until(lambda: link.sent)
    await turns()
    (worker,) = [t for t in asyncio.all_tasks() if t.get_name() == "safetyq doomed"]
    worker.cancel()
    await asyncio.wait({worker})
    go_on.set()
    await asyncio.wait({running}, timeout=1.0)
    done = running.done()
    running.cancel()
    (result,) = await asyncio.gather(running, return_exceptions=True)
    assert done
    assert isinstance(result, SafetyError)


async def test_the_bound_behind_a_job_holds_although_its_last_transaction_hangs(
    own: Owner,
) -> None:
    link = ScriptedLink()

    async def job(txn: TXN) -> None:
        await asyncio.sleep(0.05)
        await txn(b"HANG?", timeout=1.5)

    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(job, QUERY, timeout=0.1))
        await turns()
        await (await dispatcher.submit("behind", b"BEHIND", QUERY))
        await asyncio.gather(running, return_exceptions=True)
    record = record_of(dispatcher, "behind")
    assert record.bound_s <= 0.2
    assert record.dispatch_latency_s is not None
    assert record.dispatch_latency_s <= record.bound_s + LOADED_S


async def test_every_transaction_of_a_job_has_its_own_record() -> None:
    link = ScriptedLink({b"A?": b"a"})

    async def job(txn: TXN) -> None:
        await txn(b"A?")
        await txn(b"SET")

    async with SafetyAwareDispatcher.on(link) as dispatcher:
        await dispatcher.run_job(job, CONTROL)
        await turns()
    sent = [r for r in dispatcher.records if r.payload]
    assert [(r.payload, r.priority, r.outcome) for r in sent] == [
        (b"A?", CONTROL, "ok"),
        (b"SET", CONTROL, "ok"),
    ]


async def fails(txn: TXN) -> None:
    await txn(b"J0")
    raise ZeroDivisionError


async def hangs(txn: TXN) -> None:
    await txn(b"J0")
    await never()


async def test_the_record_of_a_job_tells_how_it_ended() -> None:
    async with SafetyAwareDispatcher.on(ScriptedLink()) as dispatcher:
        with pytest.raises(ZeroDivisionError):
            await dispatcher.run_job(fails, CONTROL)
        with pytest.raises(TransactionTimeout):
            await dispatcher.run_job(hangs, CONTROL, timeout=0.03)
        cancelled = asyncio.create_task(dispatcher.run_job(hangs, CONTROL))
        await until(lambda: sum(r.payload == b"J0" for r in dispatcher.records) == 3)
        await turns()
        cancelled.cancel()
        await asyncio.wait({cancelled})
        preempted = asyncio.create_task(dispatcher.run_job(hangs, CONTROL))
        await until(lambda: sum(r.payload == b"J0" for r in dispatcher.records) == 4)
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
        preempted.cancel()
        await asyncio.wait({preempted})
    jobs = [r.outcome for r in dispatcher.records if not r.payload]
    assert jobs == ["error", "timeout", "cancelled", "preempted"]


async def test_the_record_of_a_job_that_ends_well_or_is_tripped_or_refused() -> None:
    async with SafetyAwareDispatcher.on(ScriptedLink()) as dispatcher:
        await dispatcher.run_job(lambda txn: txn(b"J0"), CONTROL)
        tripped = asyncio.create_task(dispatcher.run_job(hangs, CONTROL))
        await until(lambda: sum(r.payload == b"J0" for r in dispatcher.records) == 2)
        waiting = asyncio.create_task(dispatcher.run_job(hangs, CONTROL))
        await turns()
        await dispatcher.trip("smoke")
        with pytest.raises(EStopLatched):
            await dispatcher.run_job(hangs, CONTROL)
        await turns()
        tripped.cancel()
        await asyncio.wait({tripped, waiting})
        assert isinstance(waiting.exception(), EStopLatched)
    jobs = [r for r in dispatcher.records if not r.payload]
    assert [r.outcome for r in jobs] == ["ok", "refused", "refused", "preempted"]
    assert [r.dispatched_s is None for r in jobs] == [False, True, True, False]
    assert all(r.written_s is None for r in jobs), "a job itself sends nothing"


async def test_a_transaction_may_last_no_longer_than_its_job_may(own: Owner) -> None:
    link = ScriptedLink()
    budgets: list[bool] = []

    async def job(txn: TXN) -> None:
        await txn(b"J0")
        assert dispatcher.worst_case_s(SAFETY) == 0.0
        hanging = asyncio.ensure_future(txn(b"HANG?", timeout=60.0))
        await until(lambda: b"HANG?" in link.payloads)
        budgets.append(dispatcher.worst_case_s(SAFETY) <= 0.15)
        await hanging

    async with own(link) as dispatcher:
        started = time.monotonic()
        with pytest.raises(TransactionTimeout):
            await dispatcher.run_job(job, QUERY, timeout=0.15)
        assert time.monotonic() - started < 0.15 + LOADED_S
        await until(lambda: len(dispatcher.records) == 3)
    assert budgets == [True], "what an E-stop waits for is the rest of the job's budget"
    hung = next(r for r in dispatcher.records if r.payload == b"HANG?")
    assert hung.outcome in ("timeout", "cancelled")
    assert hung.service_s is not None
    assert hung.service_s < 0.15 + LOADED_S


async def test_a_transaction_may_last_no_longer_than_its_own_budget_in_a_long_job(
    own: Owner,
) -> None:
    async def job(txn: TXN) -> None:
        with pytest.raises(TransactionTimeout, match=r"0\.03 s"):
            await txn(b"HANG?", timeout=0.03)

    async with own(ScriptedLink()) as dispatcher:
        await dispatcher.run_job(job, QUERY, timeout=60.0)


async def test_a_stubborn_job_does_not_keep_the_link_from_safety(own: Owner) -> None:
    link = ScriptedLink()
    release = asyncio.Event()

    async def job(txn: TXN) -> None:
        await txn(b"J0")
        await stubborn(release)

    async with own(link) as dispatcher:
        running = asyncio.create_task(dispatcher.run_job(job, CONTROL))
        await until(lambda: link.sent)
        running.cancel()
        await turns()
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        await asyncio.wait({estop}, timeout=2.0)
        release.set()
        await asyncio.wait({running})
    assert estop.result() == b""
    assert link.payloads == [b"J0", b"OFF"]
