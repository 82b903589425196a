"""A job whose caller is cancelled never continues, wherever it was."""

import asyncio
from typing import Any

import pytest
from dispatcher_helpers import BLOCKED_S, Owner, never, on_the_wire, outcomes, turns, until

from pytest_safetyq import Priority, SafetyError
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority
TXN = Any


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
        running = await on_the_wire(dispatcher, link, job, QUERY)
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
        running = await on_the_wire(dispatcher, link, job, QUERY)
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
        running = await on_the_wire(dispatcher, link, lambda txn: txn(b"J?"), QUERY)
        running.cancel()
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
        assert running.cancelled()
    assert link.payloads == [b"J?", b"B?"]


async def test_a_job_that_is_cancelled_while_it_waits_leaves_the_queue(own: Owner) -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=BLOCKED_S)
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
