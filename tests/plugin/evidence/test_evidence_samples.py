"""Evidence to test the writers with, and that it survives the way from a worker of xdist."""

from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from pytest_safetyq import Priority, TransactionRecord
from pytest_safetyq.bench.reports import EStopReport, EStopStep, bench_report
from pytest_safetyq.plugin.evidence.model import InstrumentEvidence, RunEvidence, TestEvidence
from pytest_safetyq.scheduling import Outcome

SCRIPT = "<script>alert('&')</script>"
OUTCOMES: list[Outcome] = [
    "ok",
    "timeout",
    "error",
    "cancelled",
    "preempted",
    "coalesced",
    "refused",
]


def sample(latency_s: float | None = 0.001, **changes: Any) -> TransactionRecord:
    """A safety command, submitted at 0 s, that took 2 ms once it was sent."""
    submitted_s = changes.pop("submitted_s", 0.0)
    sent_s = None if latency_s is None else submitted_s + latency_s
    given: dict[str, Any] = {
        "instrument": "smu",
        "cmd_id": "off",
        "payload": b":OUTP OFF\n",
        "priority": Priority.SAFETY,
        "effective_priority": Priority.SAFETY,
        "submitted_s": submitted_s,
        "dispatched_s": sent_s,
        "written_s": None if sent_s is None else sent_s + 0.001,
        "finished_s": None if sent_s is None else sent_s + 0.002,
        "bound_s": 2.0,
        "outcome": "ok",
    }
    return TransactionRecord(**{**given, **changes})


def estop(
    *, confirmed: bool = True, reply: str = "0", reason: str = "a test failed"
) -> EStopReport:
    one = EStopReport(
        instrument="smu",
        confirmed=confirmed,
        dispatch_latency_s=0.0002,
        confirmed_latency_s=0.004 if confirmed else None,
        bound_s=2.0,
        attempts=1,
        steps=(
            EStopStep(instrument="smu", attempt=1, command=":OUTP OFF", dispatch_latency_s=0.0002),
            EStopStep(instrument="smu", attempt=1, command=":OUTP?", reply=reply, bound_s=2.0),
        ),
        reason=reason,
    )
    return bench_report([one], reason)


def instrument(name: str = "smu", *, simulated: bool = True) -> InstrumentEvidence:
    return InstrumentEvidence(
        name=name,
        resource="GPIB0::5::INSTR",
        model="keithley-2400",
        identity="KEITHLEY,2400",
        simulated=simulated,
    )


def run_of(
    *records: TransactionRecord,
    estops: list[EStopReport] | None = None,
    instruments: list[InstrumentEvidence] | None = None,
    nodeid: str = "test_it.py::test_it",
    outcome: str = "passed",
) -> RunEvidence:
    """A run of one test."""
    test = TestEvidence(
        nodeid=nodeid,
        instruments=[instrument()] if instruments is None else instruments,
        records=list(records),
        estops=[estop()] if estops is None else estops,
    )
    return RunEvidence(
        started="2025-06-01T12:00:00+00:00",
        version="0.1.0",
        tests=[test],
        outcomes={nodeid: outcome},
    )


def empty_run() -> RunEvidence:
    return RunEvidence(started="2025-06-01T12:00:00+00:00", version="0.1.0")


@st.composite
def any_record(draw: st.DrawFn) -> TransactionRecord:
    """A record as a dispatcher may leave it: the times it has never run backwards."""
    begin, *rest = sorted(draw(st.tuples(*[st.floats(0, 1000)] * 4)))
    reached = draw(st.integers(0, 3))
    dispatched, written, finished = [t if i < reached else None for i, t in enumerate(rest)]
    if draw(st.booleans()):  # it ended, wherever it was
        finished = rest[2]
    return TransactionRecord(
        instrument=draw(st.sampled_from(["smu", "psu", "laser"])),
        cmd_id=draw(st.text(max_size=5)),
        payload=draw(st.binary(max_size=8)),
        priority=draw(st.sampled_from(Priority)),
        effective_priority=draw(st.sampled_from(Priority)),
        submitted_s=begin,
        dispatched_s=dispatched,
        written_s=written,
        finished_s=finished,
        bound_s=draw(st.one_of(st.floats(0, 10), st.just(float("inf")))),
        outcome=draw(st.sampled_from(OUTCOMES)),
    )


@pytest.mark.parametrize("confirmed", [True, False])
def test_the_samples_arrive_as_they_left(confirmed: bool) -> None:
    test = run_of(sample(), sample(None), estops=[estop(confirmed=confirmed)]).tests[0]
    assert msgspec.convert(msgspec.to_builtins(test), TestEvidence) == test
