"""The budget of a job, and the budgets of its transactions in it."""

import asyncio
import time
from typing import Any

import pytest
from dispatcher_helpers import LOADED_S, SHORT_DRAIN_S, Owner, never, record_of, turns, until

from pytest_safetyq import Priority, TransactionTimeout
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority
TXN = Any


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
        with pytest.raises(TransactionTimeout, match=r"budget of 0\.2 s"):
            await dispatcher.run_job(job, QUERY, timeout=0.2)
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
