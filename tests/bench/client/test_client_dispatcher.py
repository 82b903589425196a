"""`RemoteDispatcher`: it does what the dispatcher itself does, from another process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from bench_rig import Rig, bounded, until_async

from pytest_safetyq import (
    BacklogFull,
    EStopLatched,
    LimitExceeded,
    Preempted,
    Priority,
    SafeStateUnconfirmed,
    TransactionRecord,
    TransactionTimeout,
)
from pytest_safetyq.dispatcher.loan import Transact

IDENTITY = b"KEITHLEY INSTRUMENTS INC.,MODEL 2400,SIM0001,C32"


async def test_submit_returns_a_future_at_once(rig: Rig) -> None:
    with rig.held():
        future = await rig.dispatcher.submit("a", b"*IDN?", Priority.QUERY)
        assert isinstance(future, asyncio.Future)
        assert not future.done()
        assert rig.dispatcher.pending == 1
    assert await future == IDENTITY
    assert await (await rig.dispatcher.submit("b", b"*CLS", Priority.CONTROL)) == b""


async def test_submit_refuses_as_the_dispatcher_does(rig: Rig) -> None:
    dispatcher = rig.dispatcher
    with pytest.raises(LimitExceeded):
        await dispatcher.submit("a", b":SOUR:VOLT 21", Priority.CONTROL)
    for timeout in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            await dispatcher.submit("a", b"*CLS", Priority.CONTROL, timeout=timeout)
    with pytest.raises(ValueError, match="Priority"):
        await dispatcher.submit("a", b"*CLS", 9)  # type: ignore[arg-type]
    with rig.held():
        futures = [await dispatcher.submit("p", b"*CLS", Priority.POLL) for _ in range(256)]
        with pytest.raises(BacklogFull):
            await dispatcher.submit("q", b"*CLS", Priority.CONTROL)
        assert await dispatcher.abort_low_priority() == 256
        with pytest.raises(asyncio.CancelledError):
            await futures[0]
    await dispatcher.trip("enough")
    with pytest.raises(EStopLatched, match="enough"):
        await dispatcher.submit("a", b"*CLS", Priority.QUERY)


async def test_a_future_times_out(rig: Rig) -> None:
    future = await rig.dispatcher.submit("a", b":FETC?", Priority.QUERY, timeout=0.05)
    with pytest.raises(TransactionTimeout):
        await future


async def test_expect_reply_overrides_the_question_mark(rig: Rig) -> None:
    future = await rig.dispatcher.submit(
        "a", b"*CLS", Priority.QUERY, timeout=0.05, expect_reply=True
    )
    with pytest.raises(TransactionTimeout):
        await future


async def test_abort_takes_poll_and_query_and_leaves_control(rig: Rig) -> None:
    dispatcher = rig.dispatcher
    with rig.held():
        futures = {
            priority: await dispatcher.submit(f"{priority}", b"*CLS", priority)
            for priority in (Priority.POLL, Priority.QUERY, Priority.CONTROL)
        }
        assert await dispatcher.abort_low_priority(below=Priority.QUERY) == 1
        assert await dispatcher.abort_low_priority() == 1
        assert dispatcher.pending_by_priority[Priority.CONTROL] == 1
    assert await futures[Priority.CONTROL] == b""
    for priority in (Priority.POLL, Priority.QUERY):
        with pytest.raises(asyncio.CancelledError):
            await futures[priority]


async def test_a_cancelled_future_is_skipped(rig: Rig) -> None:
    with rig.held():
        future = await rig.dispatcher.submit("a", b":SOUR:VOLT 3", Priority.CONTROL)
        future.cancel()
        await until_async(lambda: rig.dispatcher.pending == 0, "it is withdrawn")
    await rig.async_smu.query("*IDN?")
    assert ":SOUR:VOLT 3" not in rig.sent()


async def test_repeats_of_a_safety_command_are_coalesced(rig: Rig) -> None:
    dispatcher = rig.dispatcher
    before, count = dispatcher.coalesced, len(rig.sent())
    futures = [await dispatcher.submit("off", b":OUTP OFF", Priority.SAFETY) for _ in range(20)]
    assert await asyncio.gather(*futures) == [b""] * 20
    sent = rig.sent()[count:].count(":OUTP OFF")
    assert sent + dispatcher.coalesced - before == 20
    outcomes = [r.outcome for r in rig.safety.records if r.cmd_id == "off"]
    assert outcomes.count("ok") == sent
    assert outcomes.count("coalesced") == 20 - sent


async def test_the_properties_tell_what_waits(rig: Rig) -> None:
    dispatcher = rig.dispatcher
    assert (dispatcher.name, dispatcher.latched, dispatcher.pending) == ("smu", False, 0)
    assert dispatcher.running_priority is None
    with rig.held():
        future = await dispatcher.submit("a", b"*CLS", Priority.POLL)
        assert dispatcher.pending_by_priority[Priority.POLL] == 1
        assert set(dispatcher.dwell_s) <= set(Priority)
        first = dispatcher.dwell_s[Priority.POLL]
        assert 0 <= first <= dispatcher.dwell_s[Priority.POLL]
    await future
    assert dispatcher.worst_case_s() >= 0
    assert dispatcher.worst_case_s(Priority.POLL) >= 0
    in_flight = await dispatcher.submit("slow", b":READ?", Priority.QUERY, timeout=3)
    await until_async(lambda: dispatcher.running_priority is not None, "it is in flight")
    await in_flight


async def test_the_bound_is_what_remains_of_the_budget_in_flight(rig: Rig) -> None:
    dispatcher = rig.dispatcher
    count = len(rig.sent())
    future = await dispatcher.submit("mute", b":FETC?", Priority.QUERY, timeout=0.5)
    await until_async(lambda: ":FETC?" in rig.sent()[count:], "it is in flight")
    assert 0 < dispatcher.worst_case_s() <= 0.5 + 3.0  # and the resynchronising after it
    with pytest.raises(TransactionTimeout):
        await future


async def test_the_records_are_those_of_the_instrument(own: Rig) -> None:
    rig = own
    await rig.async_smu.query("*IDN?")
    rig.instrument("load").query("INP?")
    records = rig.dispatcher.records
    assert all(isinstance(record, TransactionRecord) for record in records)
    assert {record.instrument for record in records} == {"smu"}
    last = records[-1]
    assert (last.payload, last.priority, last.outcome) == (b"*IDN?", Priority.QUERY, "ok")
    assert last.dispatch_latency_s is not None
    assert last.service_s is not None
    assert last.dispatch_latency_s >= 0
    assert last.service_s > 0


@pytest.mark.parametrize(
    "send",
    [
        lambda rig: rig.smu.query_raw(b"*IDN?\n"),
        lambda rig: rig.smu.write_raw(b"*CLS\n"),
        lambda rig: rig.smu.query_binary_values(":CURV:FLO?"),
    ],
    ids=["query_raw", "write_raw", "query_binary_values"],
)
def test_the_records_of_raw_messages(own: Rig, send: Callable[[Rig], object]) -> None:
    send(own)
    assert bounded(lambda: own.dispatcher.records)[-1].outcome == "ok"
    assert bounded(lambda: own.safety.records)[-1].payload.endswith(b"\n")


async def test_a_job_has_the_link_for_itself(rig: Rig) -> None:
    queries: list[asyncio.Task[str]] = []

    async def job(txn: Transact) -> bytes:
        first = await txn(b"*IDN?")
        queries.append(asyncio.create_task(rig.async_smu.query(":SYST:VERS?")))
        await until_async(lambda: rig.dispatcher.pending == 1, "the query waits")
        await txn(b":SOUR:VOLT 2")
        return first + await txn(b":OUTP?")

    assert await rig.dispatcher.run_job(job, Priority.QUERY) == IDENTITY + b"0"
    assert await queries[0] == "1996.0"
    assert rig.sent()[-4:] == ["*IDN?", ":SOUR:VOLT 2", ":OUTP?", ":SYST:VERS?"]


async def test_a_job_is_preempted_by_safety_from_elsewhere(rig: Rig) -> None:
    seen: list[str] = []

    async def job(txn: Transact) -> None:
        try:
            await txn(b"*IDN?")
            await asyncio.to_thread(rig.smu.query, ":OUTP?", priority=Priority.SAFETY)
            await txn(b":SOUR:VOLT 9")
        except Preempted:
            seen.append("preempted")
            raise
        finally:
            seen.append("finally")

    with pytest.raises(Preempted):
        await rig.dispatcher.run_job(job, Priority.CONTROL)
    assert seen == ["preempted", "finally"]
    assert ":SOUR:VOLT 9" not in rig.sent()
    assert await rig.async_smu.query(":OUTP?") == "0"


async def test_a_job_ends_with_the_estop(rig: Rig) -> None:
    async def job(txn: Transact) -> None:
        await txn(b"*IDN?")
        await rig.async_smu.estop("in the middle")
        await txn(b":OUTP ON")

    with pytest.raises((EStopLatched, Preempted)):
        await rig.dispatcher.run_job(job, Priority.CONTROL)
    assert not rig.is_on
    assert rig.smu.latched


async def test_a_job_has_a_budget(rig: Rig) -> None:
    ended: list[str] = []

    async def job(txn: Transact) -> None:
        try:
            await txn(b"*IDN?")
            await asyncio.Event().wait()
        finally:
            ended.append("finally")

    with pytest.raises(TransactionTimeout, match="budget"):
        await rig.dispatcher.run_job(job, Priority.QUERY, timeout=0.1)
    assert ended == ["finally"]
    assert await rig.async_smu.query(":OUTP?") == "0"


async def test_a_transaction_of_a_job_has_a_budget_too(rig: Rig) -> None:
    async def job(txn: Transact) -> bytes:
        with pytest.raises(TransactionTimeout):
            await txn(b":FETC?", timeout=0.05)
        with pytest.raises(ValueError, match="timeout"):
            await txn(b"*IDN?", timeout=0)
        with pytest.raises(LimitExceeded):
            await txn(b":SOUR:VOLT 21")
        return await txn(b":OUTP?")

    assert await rig.dispatcher.run_job(job, Priority.QUERY) == b"0"


async def test_an_exception_of_the_job_comes_out_and_frees_the_link(rig: Rig) -> None:
    async def job(txn: Transact) -> None:
        await txn(b"*IDN?")
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        await rig.dispatcher.run_job(job, Priority.CONTROL)
    assert await rig.async_smu.query(":OUTP?") == "0"


async def test_a_job_that_is_cancelled_frees_the_link(rig: Rig) -> None:
    began = asyncio.Event()

    async def job(txn: Transact) -> None:
        await txn(b"*IDN?")
        began.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(rig.dispatcher.run_job(job, Priority.CONTROL))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await rig.async_smu.query(":OUTP?") == "0"


async def test_a_job_that_is_cancelled_while_it_waits_never_runs(rig: Rig) -> None:
    ran: list[str] = []

    async def job(txn: Transact) -> None:
        del txn
        ran.append("it ran")

    with rig.held():
        task = asyncio.create_task(rig.dispatcher.run_job(job, Priority.QUERY))
        await until_async(lambda: rig.dispatcher.pending == 1, "it waits")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until_async(lambda: rig.dispatcher.pending == 0, "it is withdrawn")
    assert await rig.async_smu.query(":OUTP?") == "0"
    assert ran == []


async def test_a_waiting_job_is_flushed_by_a_trip(rig: Rig) -> None:
    async def job(txn: Transact) -> None:
        await txn(b":OUTP ON")

    with rig.held():
        task = asyncio.create_task(rig.dispatcher.run_job(job, Priority.CONTROL))
        await until_async(lambda: rig.dispatcher.pending == 1, "it waits")
        await rig.async_smu.estop()
        with pytest.raises(EStopLatched):
            await task
    with pytest.raises(EStopLatched):
        await rig.dispatcher.run_job(job, Priority.CONTROL)
    assert not rig.is_on


async def test_a_job_that_has_ended_has_no_link_any_more(rig: Rig) -> None:
    kept: list[Transact] = []

    async def job(txn: Transact) -> None:
        kept.append(txn)

    await rig.dispatcher.run_job(job, Priority.CONTROL)
    with pytest.raises(Preempted):
        await kept[0](b":OUTP ON")
    await rig.async_smu.query("*IDN?")
    assert not rig.is_on
    # The supervisor may have forgotten the job by now.
    with pytest.raises(Preempted):
        await kept[0](b":OUTP ON")


async def test_a_trip_flushes_latches_and_needs_a_confirmed_off(rig: Rig) -> None:
    dispatcher = rig.dispatcher
    with rig.held():
        futures = [await dispatcher.submit("a", b"*CLS", Priority.POLL) for _ in range(3)]
        assert await dispatcher.trip("why not") == 3
    for future in futures:
        with pytest.raises(EStopLatched):
            await future
    with pytest.raises(SafeStateUnconfirmed, match="smu"):
        dispatcher.rearm("too early")
    assert rig.smu.latched
    assert (await rig.async_smu.estop()).confirmed
    dispatcher.rearm("now it is off")
    assert not dispatcher.latched
    assert await rig.async_smu.query(":OUTP?") == "0"
