"""The trace, held against what the trace event format asks for."""

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_evidence_samples import any_record, empty_run, instrument, run_of, sample

from pytest_safetyq import Priority, TransactionRecord
from pytest_safetyq.plugin.evidence.model import RunEvidence
from pytest_safetyq.plugin.evidence.trace import write_trace

Event = dict[str, Any]


def traced(run: RunEvidence, folder: Path) -> list[Event]:
    write_trace(run, folder / "trace.json")
    document = json.loads((folder / "trace.json").read_bytes())
    assert document["displayTimeUnit"] == "ms"
    events: list[Event] = document["traceEvents"]
    return events


def named(events: list[Event], kind: str) -> dict[int, str]:
    key = "pid" if kind == "process_name" else "tid"
    return {event[key]: event["args"]["name"] for event in events if event["name"] == kind}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(any_record(), max_size=20))
def test_every_event_is_complete_and_every_command_is_there(
    tmp_path: Path, records: list[TransactionRecord]
) -> None:
    events = traced(run_of(*records), tmp_path)
    threads = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    for event in events:
        assert event["ph"] in {"M", "X", "i"}
        assert event["ts"] >= 0
        assert {"pid", "tid", "name", "args"} <= event.keys()
        assert event["ph"] != "X" or event["dur"] >= 0
        assert event["ph"] == "M" or (event["pid"], event["tid"]) in threads
    begun = [e for e in events if e["ph"] == "i" or e.get("cat") == "waiting"]
    assert len(begun) == len(records)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(any_record(), max_size=20))
def test_what_waits_at_once_is_side_by_side(
    tmp_path: Path, records: list[TransactionRecord]
) -> None:
    threads = defaultdict(list)
    for event in traced(run_of(*records), tmp_path):
        if event.get("cat") == "waiting":
            threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for slices in threads.values():
        assert all(a[1] <= b[0] + 1e-3 for a, b in pairwise(slices))  # to the nanosecond


def test_a_command_waits_and_is_served(tmp_path: Path) -> None:
    first = sample(0.5, submitted_s=100.0)
    second = sample(
        0.25,
        submitted_s=101.0,
        priority=Priority.POLL,
        effective_priority=Priority.CONTROL,
        cmd_id="poll",
        payload=b"READ?\n",
        outcome="timeout",
    )
    events = traced(run_of(second, first), tmp_path)
    assert named(events, "process_name") == {1: "smu GPIB0::5::INSTR SIMULATED"}
    threads = named(events, "thread_name")
    assert list(threads.values()) == ["SAFETY", "SAFETY waiting 1", "POLL", "POLL waiting 1"]
    drawn = [
        (threads[e["tid"]], e["name"], e["cat"], round(e["ts"]), round(e["dur"]))
        for e in events
        if e["ph"] == "X"
    ]
    assert drawn == [
        ("SAFETY waiting 1", ":OUTP OFF", "waiting", 0, 500_000),
        ("SAFETY", ":OUTP OFF", "service", 500_000, 2_000),
        ("POLL waiting 1", "READ?", "waiting", 1_000_000, 250_000),
        ("POLL", "READ?", "service", 1_250_000, 2_000),
    ]
    assert [e for e in events if e["ph"] == "X"][-1]["args"] == {
        "cmd_id": "poll",
        "outcome": "timeout",
        "bound_ms": 2000.0,
        "latency_ms": 250.0,
        "effective_priority": "CONTROL",
    }


def test_coalesced_and_refused_are_moments(tmp_path: Path) -> None:
    records = [
        sample(None, outcome="coalesced", finished_s=1.0),
        sample(None, outcome="refused", finished_s=1.0, priority=Priority.QUERY),
    ]
    moments = [e for e in traced(run_of(*records), tmp_path) if e["ph"] != "M"]
    assert [(e["ph"], e["s"], e["cat"]) for e in moments] == [
        ("i", "t", "coalesced"),
        ("i", "t", "refused"),
    ]


def test_what_never_finished_is_drawn_as_far_as_it_got(tmp_path: Path) -> None:
    events = traced(run_of(sample(0.001, finished_s=None)), tmp_path)
    (service,) = [e for e in events if e.get("cat") == "service"]
    assert round(service["dur"]) == 1000


def test_each_instrument_is_a_process(tmp_path: Path) -> None:
    run = run_of(
        sample(),
        sample(instrument="psu"),
        instruments=[instrument(), instrument("laser", simulated=False)],
    )
    assert named(traced(run, tmp_path), "process_name") == {
        1: "smu GPIB0::5::INSTR SIMULATED",
        2: "laser GPIB0::5::INSTR REAL",
        3: "psu ? REAL",
    }


def test_an_instrument_known_from_its_polls_alone_is_drawn(tmp_path: Path) -> None:
    events = traced(run_of(sample(priority=Priority.POLL), instruments=[]), tmp_path)
    assert [e["cat"] for e in events if e["ph"] == "X"] == ["waiting", "service"]


def test_an_empty_run_is_an_empty_trace(tmp_path: Path) -> None:
    assert traced(empty_run(), tmp_path) == []


def test_ten_thousand_records_with_a_long_backlog_are_drawn(tmp_path: Path) -> None:
    records = [sample(0.2, submitted_s=i / 1000, priority=Priority.POLL) for i in range(10_000)]
    events = traced(run_of(*records), tmp_path)
    assert sum(e["ph"] == "X" for e in events) == 20_000
