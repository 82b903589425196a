"""The evidence as Chrome trace events, which Perfetto and chrome://tracing draw.

An instrument is a process, a priority a thread with what was on the wire. The commands that
wait for it overlap, but slices of one thread may only nest; so they are drawn on threads
beside it, as many as there were commands waiting at once.

The format: "Trace Event Format", Google, 2016.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pytest_safetyq.plugin.evidence.atomic import replace_file
from pytest_safetyq.plugin.evidence.dispatches import by_instrument, command_text
from pytest_safetyq.plugin.evidence.model import RunEvidence
from pytest_safetyq.plugin.evidence.summary import instrument_summaries, records_of
from pytest_safetyq.scheduling import Priority, TransactionRecord

Event = dict[str, Any]

MOMENTS = ("coalesced", "refused")
"""The outcomes that are drawn as a moment, at the submission: nothing was sent for them."""

THREADS_PER_PRIORITY = 10_000
"""Numbers set aside for the threads of one priority; far more than commands can wait."""


def write_trace(run: RunEvidence, path: Path) -> None:
    """Write the transactions of the run to ``path``, all of it or nothing.

    Times in the file are microseconds since the first command was submitted.

    Raises:
        OSError: The file can't be written; one that was there before is as it was.
    """
    document = {
        "traceEvents": list(_events(run)),
        "displayTimeUnit": "ms",
        "otherData": {"started": run.started, "version": run.version},
    }
    replace_file(path, msgspec.json.encode(document))


def _events(run: RunEvidence) -> Iterator[Event]:
    records = sorted(records_of(run), key=lambda record: record.submitted_s)
    groups = by_instrument(records)
    for pid, instrument in enumerate(instrument_summaries(run), 1):
        resource = instrument.opened.resource if instrument.opened else "?"
        title = f"{instrument.name} {resource} {instrument.kind}"
        yield _metadata("process_name", pid, 0, name=title)
        yield _metadata("process_sort_index", pid, 0, sort_index=pid)
        group = groups.pop(instrument.name, [])
        if group:
            yield from _Process(pid, records[0].submitted_s).draw(group)


@dataclass(slots=True)
class _Lanes:
    """Places beside one another for slices that overlap; each gets the first that is free.

    Attributes:
        free_us: For each lane, when its last slice ends.
    """

    free_us: list[float] = field(default_factory=list)

    def take(self, begin_us: float, end_us: float) -> int:
        """Return the lane, from 0, of a slice; they come in the order in which they begin."""
        for lane, free_us in enumerate(self.free_us):
            if free_us <= begin_us:
                self.free_us[lane] = end_us
                return lane
        self.free_us.append(end_us)
        return len(self.free_us) - 1


@dataclass(frozen=True, slots=True)
class _Process:
    """The threads of one instrument.

    Attributes:
        pid: Its number in the trace.
        origin_s: The monotonic time that the trace calls 0, in seconds.
    """

    pid: int
    origin_s: float

    def draw(self, records: list[TransactionRecord]) -> Iterator[Event]:
        """Return the events of ``records``, which are in the order of their submission."""
        for priority in Priority:
            group = [record for record in records if record.priority is priority]
            if group:
                yield from self._thread(_tid(priority), priority.name)
                yield from self._waiting(group, priority)
                yield from self._on_the_wire(group, priority)

    def _waiting(self, records: list[TransactionRecord], priority: Priority) -> Iterator[Event]:
        lanes = _Lanes()
        for record in records:
            until_s = record.finished_s if record.dispatched_s is None else record.dispatched_s
            if record.outcome in MOMENTS or until_s is None:
                moment = self._event("i", _tid(priority), record, record.submitted_s)
                yield {**moment, "s": "t"}
                continue
            lane = lanes.take(self._us(record.submitted_s), self._us(until_s)) + 1
            slice_ = self._event("X", _tid(priority, lane), record, record.submitted_s)
            yield {**slice_, "cat": "waiting", "dur": self._us(until_s) - slice_["ts"]}
        for lane in range(1, len(lanes.free_us) + 1):
            yield from self._thread(_tid(priority, lane), f"{priority.name} waiting {lane}")

    def _on_the_wire(self, records: list[TransactionRecord], priority: Priority) -> Iterator[Event]:
        for record in records:
            if record.dispatched_s is None:
                continue
            # What never finished is drawn as far as it is known to have got.
            known_s = (record.finished_s, record.written_s, record.dispatched_s)
            until_s = next(time_s for time_s in known_s if time_s is not None)
            slice_ = self._event("X", _tid(priority), record, record.dispatched_s)
            yield {**slice_, "cat": "service", "dur": self._us(until_s) - slice_["ts"]}

    def _thread(self, tid: int, name: str) -> Iterator[Event]:
        yield _metadata("thread_name", self.pid, tid, name=name)
        yield _metadata("thread_sort_index", self.pid, tid, sort_index=tid)

    def _event(self, phase: str, tid: int, record: TransactionRecord, at_s: float) -> Event:
        return {
            "name": command_text(record),
            "cat": record.outcome,
            "ph": phase,
            "ts": self._us(at_s),
            "pid": self.pid,
            "tid": tid,
            "args": _arguments(record),
        }

    def _us(self, at_s: float) -> float:
        return (at_s - self.origin_s) * 1e6


def _tid(priority: Priority, lane: int = 0) -> int:
    # Never 0: that is the idle thread to some viewers.
    return priority * THREADS_PER_PRIORITY + lane + 1


def _metadata(name: str, pid: int, tid: int, /, **args: str | int) -> Event:
    return {"name": name, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": args}


def _arguments(record: TransactionRecord) -> dict[str, str | float | None]:
    latency_s = record.dispatch_latency_s
    return {
        "cmd_id": record.cmd_id,
        "outcome": record.outcome,
        "bound_ms": record.bound_s * 1000,
        "latency_ms": None if latency_s is None else latency_s * 1000,
        "effective_priority": record.effective_priority.name,
    }
