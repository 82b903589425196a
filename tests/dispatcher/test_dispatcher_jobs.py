"""`run_job`: several transactions with nothing in between."""

import asyncio
from typing import Any

import pytest
from dispatcher_helpers import Owner, until

from pytest_safetyq import Preempted, Priority
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


async def test_an_error_in_a_job_is_the_callers_and_frees_the_link(own: Owner) -> None:
    link = ScriptedLink()

    async def job(txn: TXN) -> None:
        await txn(b"J0")
        raise ZeroDivisionError("mine")

    async with own(link) as dispatcher:
        with pytest.raises(ZeroDivisionError, match="mine"):
            await dispatcher.run_job(job, QUERY)
        assert await (await dispatcher.submit("next", b"NEXT", QUERY)) == b""


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
