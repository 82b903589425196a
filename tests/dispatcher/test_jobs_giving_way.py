"""A job gives way when it must, and finds out at its next transaction."""

import asyncio
import contextlib
from typing import Any

import pytest
from dispatcher_helpers import Owner, on_the_wire, stubborn, turns, until

from pytest_safetyq import EStopLatched, Preempted, Priority, SafetyError, TransactionTimeout
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority
TXN = Any


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
        running = await on_the_wire(dispatcher, link, job, QUERY)
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
        running = await on_the_wire(dispatcher, link, slow, POLL)
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
        running = await on_the_wire(dispatcher, link, job, CONTROL)
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
    running = await on_the_wire(dispatcher, link, job, CONTROL)
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
    running = await on_the_wire(dispatcher, link, job, CONTROL)
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


async def test_a_stubborn_job_does_not_keep_the_link_from_safety(own: Owner) -> None:
    link = ScriptedLink()
    release = asyncio.Event()

    async def job(txn: TXN) -> None:
        await txn(b"J0")
        await stubborn(release)

    async with own(link) as dispatcher:
        running = await on_the_wire(dispatcher, link, job, CONTROL)
        running.cancel()
        await turns()
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        await asyncio.wait({estop}, timeout=2.0)
        release.set()
        await asyncio.wait({running})
    assert estop.result() == b""
    assert link.payloads == [b"J0", b"OFF"]
