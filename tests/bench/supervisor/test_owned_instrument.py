"""`TestLog` and `OwnedInstrument`: the records of a test, and the limits before the link."""

import pytest
from supervisor_helpers import off_link, profile_of, started

from pytest_safetyq import LimitExceeded, Priority, TransactionRecord
from pytest_safetyq.bench.limits import Limits
from pytest_safetyq.bench.supervisor import instrument as module
from pytest_safetyq.bench.supervisor.instrument import TestLog
from pytest_safetyq.links import RawBytes, ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


def record(cmd_id: str, priority: Priority, submitted_s: float) -> TransactionRecord:
    return TransactionRecord(
        instrument="smu",
        cmd_id=cmd_id,
        payload=b"X",
        priority=priority,
        effective_priority=priority,
        submitted_s=submitted_s,
        dispatched_s=None,
        written_s=None,
        finished_s=None,
        bound_s=0.0,
        outcome="ok",
    )


def test_the_records_are_in_the_order_of_submission_whatever_came_first() -> None:
    log = TestLog()
    log.add(record("third", SAFETY, 3.0))
    log.add(record("first", POLL, 1.0))
    log.add(record("second", SAFETY, 2.0))
    log.add(record("fourth", CONTROL, 4.0))
    assert [r.cmd_id for r in log.records] == ["first", "second", "third", "fourth"]


def test_a_new_test_begins_with_none() -> None:
    log = TestLog()
    log.add(record("a", SAFETY, 1.0))
    log.add(record("b", POLL, 2.0))
    log.begin()
    assert log.records == []
    log.add(record("c", POLL, 3.0))
    assert [r.cmd_id for r in log.records] == ["c"]


def test_a_flood_of_polls_pushes_out_polls_and_never_safety(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KEPT_PER_TEST", 10)
    log = TestLog()
    for n in range(50):
        log.add(record(f"s{n}", SAFETY, 2.0 * n))
        log.add(record(f"p{n}", POLL, 2.0 * n + 1))
    names = [r.cmd_id for r in log.records]
    assert [n for n in names if n.startswith("s")] == [f"s{n}" for n in range(50)]
    assert [n for n in names if n.startswith("p")] == [f"p{n}" for n in range(40, 50)]


def test_what_is_kept_is_a_copy() -> None:
    log = TestLog()
    log.add(record("a", SAFETY, 1.0))
    log.records.clear()
    assert len(log.records) == 1


async def test_every_command_is_in_the_log_of_the_test() -> None:
    smu = await started(off_link())
    await smu.submit("x", b"X", CONTROL)
    await smu.submit("off", b"OFF", SAFETY)
    assert [(r.cmd_id, r.outcome) for r in smu.log.records] == [("x", "ok"), ("off", "ok")]
    await smu.close()


@pytest.mark.parametrize("priority", list(Priority))
async def test_a_set_point_beyond_its_limit_is_refused_and_nothing_is_sent(
    priority: Priority,
) -> None:
    link = off_link()
    limits = Limits.from_config({"voltage_v": 20.0}, {"voltage_v": (":SOURce:VOLTage",)})
    smu = await started(link, limits=limits)
    for raw in (False, True):
        with pytest.raises(LimitExceeded):
            smu.submit("v", b"SOUR:VOLT 21", priority, raw=raw)
    await smu.submit("v", b"SOUR:VOLT 20", priority)
    assert link.payloads == [b"SOUR:VOLT 20"]
    assert len(smu.log.records) == 1
    await smu.close()


async def test_the_budget_is_the_instruments_own_unless_given() -> None:
    smu = await started(ScriptedLink(), timeout_s=7.0)
    blocking = smu.submit("block", b"BLOCK?", QUERY, timeout_s=0.05)
    for priority in (SAFETY, SAFETY):
        smu.submit(f"s{smu.dispatcher.pending}", b"S", priority)
    assert 14.0 <= smu.dispatcher.worst_case_s() <= 14.1
    with pytest.raises(TimeoutError):
        await blocking
    await smu.close()


async def test_raw_payloads_are_marked_for_the_link() -> None:
    kinds: list[type] = []

    class Seeing(ScriptedLink):
        async def write(self, payload: bytes, /) -> None:
            kinds.append(type(payload))
            await super().write(payload)

    smu = await started(Seeing())
    await smu.submit("a", b"A", CONTROL)
    await smu.submit("b", b"B", CONTROL, raw=True)
    assert kinds == [bytes, RawBytes]
    await smu.close()


async def test_what_a_client_may_know() -> None:
    smu = await started(off_link(), profile_of("OFF", write_terminator="\r\n"), timeout_s=3.0)
    described = smu.described()
    assert (described.name, described.resource, described.model) == (
        "smu",
        "smu::INSTR",
        "test-model",
    )
    assert (described.identity, described.simulated, described.timeout_s) == ("ACME", False, 3.0)
    assert described.write_terminator == b"\r\n"
    await smu.close()


async def test_closing_stops_the_dispatcher_and_closes_the_link() -> None:
    link = off_link()
    smu = await started(link)
    waiting = smu.submit("estop", b"OFF", SAFETY)
    await smu.close()
    assert waiting.result() == b"", "SAFETY is sent before"
    assert link.closed
