"""`RemoteJob`: a job whose body runs elsewhere, and whose every request is answered."""

import asyncio

import pytest
from supervisor_helpers import in_background, started, until

from pytest_safetyq import EStopLatched, Preempted, Priority, TransactionTimeout
from pytest_safetyq.bench.limits import Limits
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.job import RemoteJob
from pytest_safetyq.bench.wire.messages import (
    BeginJob,
    Done,
    Failed,
    JobGranted,
    JobTransaction,
    Message,
)
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority
JOB = 1


class Client:
    """The other end of a job."""

    def __init__(
        self,
        instrument: OwnedInstrument,
        *,
        priority: Priority = CONTROL,
        timeout_s: float | None = None,
    ) -> None:
        self.received: list[Message] = []
        request = BeginJob(
            id=JOB, instrument="smu", name="job", priority=priority, timeout_s=timeout_s
        )
        self.job = RemoteJob(request, instrument, self.received.append)
        self.running = in_background(self.job.run())

    def ask(self, number: int, payload: bytes, timeout_s: float = 1.0) -> None:
        self.job.transact(
            JobTransaction(
                id=number, job=JOB, payload=payload, timeout_s=timeout_s, expect_reply=None
            )
        )

    def answers(self, number: int) -> list[Done | Failed]:
        return [m for m in self.received if isinstance(m, Done | Failed) and m.id == number]

    async def answer(self, number: int) -> Done | Failed:
        await until(lambda: self.answers(number))
        (answer,) = self.answers(number)
        return answer

    async def ended(self) -> BaseException | None:
        done, _ = await asyncio.wait({self.running}, timeout=5.0)
        assert done == {self.running}
        return self.running.exception()


async def test_it_is_granted_and_its_transactions_are_answered_in_order() -> None:
    link = ScriptedLink({b"A?": b"a", b"B?": b"b"})
    smu = await started(link)
    client = Client(smu)
    await until(lambda: client.received)
    assert client.received == [JobGranted(id=JOB)]
    for number, payload in [(2, b"A?"), (3, b"SET"), (4, b"B?")]:
        client.ask(number, payload)
    await client.answer(4)
    client.job.end()
    assert await client.ended() is None
    assert client.received[1:] == [
        Done(id=2, value=b"a"),
        Done(id=3, value=b""),
        Done(id=4, value=b"b"),
    ]
    assert link.payloads == [b"A?", b"SET", b"B?"]
    await smu.close()


async def test_nothing_less_urgent_comes_between() -> None:
    link = ScriptedLink({b"A?": b"a"})
    smu = await started(link)
    client = Client(smu)
    client.ask(2, b"A?")
    await client.answer(2)
    other = smu.submit("other", b"OTHER", QUERY)
    client.ask(3, b"A?")
    await client.answer(3)
    assert not other.done()
    client.job.end()
    await other
    assert link.payloads == [b"A?", b"A?", b"OTHER"]
    await smu.close()


async def test_it_gives_way_and_the_client_is_told_at_its_next_transaction() -> None:
    link = ScriptedLink({b"A?": b"a"})
    smu = await started(link)
    client = Client(smu)
    client.ask(2, b"A?")
    await client.answer(2)
    await smu.submit("estop", b"OFF", SAFETY)
    client.ask(3, b"A?")
    answer = await client.answer(3)
    assert isinstance(answer, Failed)
    assert answer.kind == "Preempted"
    assert "estop" in answer.message
    client.ask(4, b"A?")
    later = await client.answer(4)
    assert isinstance(later, Failed)
    assert later.kind == "Preempted"
    client.job.end()
    await client.ended()
    assert link.payloads == [b"A?", b"OFF"]
    await smu.close()


async def test_a_trip_is_told_as_such() -> None:
    smu = await started(ScriptedLink({b"A?": b"a"}))
    client = Client(smu)
    await until(lambda: client.received)
    await smu.dispatcher.trip("smoke")
    client.ask(2, b"A?")
    answer = await client.answer(2)
    assert isinstance(answer, Failed)
    assert (answer.kind, "smoke" in answer.message) == ("EStopLatched", True)
    client.job.end()
    await client.ended()
    refused = Client(smu)
    assert isinstance(await refused.ended(), EStopLatched)
    assert refused.received == []
    await smu.close()


async def test_a_failed_transaction_is_the_clients_and_the_job_goes_on() -> None:
    link = ScriptedLink({b"A?": b"a"}, resync_budget_s=0.05).on(b"BAD?", ValueError("strange"))
    smu = await started(link)
    client = Client(smu)
    client.ask(2, b"BAD?")
    bad = await client.answer(2)
    assert isinstance(bad, Failed)
    assert (bad.kind, bad.message) == ("ValueError", "strange")
    client.ask(3, b"A?", timeout_s=-1.0)
    wrong = await client.answer(3)
    assert isinstance(wrong, Failed)
    assert wrong.kind == "ValueError"
    client.ask(4, b"SILENT?", timeout_s=0.03)
    late = await client.answer(4)
    assert isinstance(late, Failed)
    assert late.kind == "TransactionTimeout"
    client.ask(5, b"A?")
    assert await client.answer(5) == Done(id=5, value=b"a")
    client.job.end()
    assert await client.ended() is None
    await smu.close()


async def test_the_limits_hold_for_jobs_too() -> None:
    link = ScriptedLink()
    limits = Limits.from_config({"voltage_v": 20.0}, {"voltage_v": ("VOLTage",)})
    smu = await started(link, limits=limits)
    client = Client(smu)
    client.ask(2, b"VOLT 30")
    answer = await client.answer(2)
    assert isinstance(answer, Failed)
    assert answer.kind == "LimitExceeded"
    client.job.end()
    assert await client.ended() is None
    assert link.payloads == []
    await smu.close()


async def test_what_is_asked_for_after_the_end_is_refused() -> None:
    link = ScriptedLink()
    smu = await started(link)
    client = Client(smu)
    await until(lambda: client.received)
    client.job.end()
    client.ask(2, b"LATE")
    await client.ended()
    client.ask(3, b"LATER")
    for number in (2, 3):
        answer = await client.answer(number)
        assert isinstance(answer, Failed)
        assert answer.kind == "Preempted"
    assert link.payloads == []
    await smu.close()


async def waiting_job(latency_s: float) -> tuple[OwnedInstrument, Client]:
    """Return a job that waits for a query in flight, and has asked for a transaction."""
    link = ScriptedLink({b"BLOCK?": b"1", b"A?": b"a"}, latency_s=latency_s)
    smu = await started(link)
    smu.submit("block", b"BLOCK?", QUERY)
    await until(lambda: link.sent)
    client = Client(smu)
    client.ask(2, b"A?")
    await asyncio.sleep(0)
    return smu, client


async def test_what_is_asked_for_before_it_is_granted_waits() -> None:
    smu, client = await waiting_job(latency_s=0.03)
    assert client.received == []
    assert await client.answer(2) == Done(id=2, value=b"a")
    client.job.end()
    await client.ended()
    await smu.close()


async def test_a_job_that_waits_when_it_is_ended_answers_everything() -> None:
    smu, client = await waiting_job(latency_s=0.1)
    await smu.dispatcher.abort_low_priority(below=SAFETY)
    assert isinstance(await client.ended(), Preempted)
    answer = await client.answer(2)
    assert isinstance(answer, Failed)
    assert answer.kind == "Preempted"
    await smu.close()


async def test_the_budget_ends_it_also_when_the_client_says_nothing_more() -> None:
    smu = await started(ScriptedLink())
    client = Client(smu, timeout_s=0.05)
    assert isinstance(await client.ended(), TransactionTimeout)
    client.ask(2, b"A")
    answer = await client.answer(2)
    assert isinstance(answer, Failed)
    await smu.submit("free", b"FREE", POLL)
    await smu.close()


@pytest.mark.parametrize("end", ["budget", "cancelled"])
async def test_a_transaction_in_flight_when_the_job_ends_is_answered_too(end: str) -> None:
    """Exactly one message answers each request."""
    link = ScriptedLink()
    smu = await started(link)
    client = Client(smu, timeout_s=0.05 if end == "budget" else None)
    client.ask(2, b"SILENT?", timeout_s=0.4)
    client.ask(3, b"NEXT?", timeout_s=0.4)
    await until(lambda: link.sent)
    if end == "cancelled":
        client.running.cancel()
    await asyncio.wait({client.running}, timeout=5.0)
    assert client.running.done()
    assert [len(client.answers(number)) for number in (2, 3)] == [1, 1]
    await smu.close()
