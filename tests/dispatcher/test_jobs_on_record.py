"""What the records tell of a job and of its transactions."""

import asyncio
from typing import Any

import pytest
from dispatcher_helpers import never, turns, until

from pytest_safetyq import EStopLatched, Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority
TXN = Any


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
