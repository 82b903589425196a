"""Safety dispatches: which records are some, how late they were, and their table.

Pure functions on records; times in seconds unless a name says ms.
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_safetyq.bench.reports import DISPATCH_SLACK_S, Distribution
from pytest_safetyq.scheduling import Priority, TransactionRecord, is_over_bound

TABLE_ROWS = 50
"""How many samples `sample_table` prints at most."""

COMMAND_WIDTH = 40
"""How many characters of a command `sample_table` prints at most."""

HEAD = ("instrument", "command", "submitted ms", "latency ms", "bound ms", "outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchSummary:
    """The safety dispatches of one instrument; at least one, or there is no summary.

    Attributes:
        instrument: The instrument's name.
        n: How many were sent.
        p50_s: Their median latency, nearest rank.
        p99_s: The 99th percentile of the latency, nearest rank.
        max_s: The longest latency.
        bound_s: The bound of the slowest; of several as slow, the least.
        over_bound: How many took longer than their own bound and the slack.
        coalesced: How many repeats shared the outcome of another instead of being sent.
    """

    instrument: str
    n: int
    p50_s: float
    p99_s: float
    max_s: float
    bound_s: float
    over_bound: int
    coalesced: int

    @property
    def verdict(self) -> str:
        """``ok``, or ``OVER BOUND`` if a single one was."""
        return "OVER BOUND" if self.over_bound else "ok"


def safety_dispatches(records: Iterable[TransactionRecord]) -> list[TransactionRecord]:
    """Return the records of SAFETY commands that were really sent, in the order given."""
    return [r for r in records if r.priority is Priority.SAFETY and r.dispatched_s is not None]


def by_instrument(records: Iterable[TransactionRecord]) -> dict[str, list[TransactionRecord]]:
    """Return the records of each instrument, the instruments by their first appearance."""
    groups: dict[str, list[TransactionRecord]] = {}
    for record in records:
        groups.setdefault(record.instrument, []).append(record)
    return groups


def summarise(
    records: Iterable[TransactionRecord], *, slack_s: float = DISPATCH_SLACK_S
) -> list[DispatchSummary]:
    """Return one summary for each instrument that was sent a safety command.

    Args:
        records: Records of any instrument and priority.
        slack_s: What a dispatch may take beyond its own bound, in seconds.
    """
    return [
        _summary(instrument, sent, _coalesced(group), slack_s)
        for instrument, group in by_instrument(records).items()
        if (sent := safety_dispatches(group))
    ]


def latency_s(record: TransactionRecord) -> float:
    """Return the latency of a dispatch, in seconds.

    Infinite where there is none, or none that is a number: what wasn't measured must never
    pass for early.
    """
    latency = record.dispatch_latency_s
    return math.inf if latency is None or math.isnan(latency) else latency


def slowest(records: Sequence[TransactionRecord], count: int) -> list[TransactionRecord]:
    """Return the ``count`` records with the longest latencies, in the order given."""
    picked = heapq.nlargest(count, range(len(records)), key=lambda i: latency_s(records[i]))
    return [records[i] for i in sorted(picked)]


def command_text(record: TransactionRecord) -> str:
    """Return what was sent as printable text, without terminators; of a job its name."""
    # Its repr shows every byte that isn't printable as an escape.
    return repr(record.payload.strip())[2:-1] or record.cmd_id


def ms(seconds: float | None) -> str:
    """Return a time for people, such as ``0.21 ms``; ``-`` where there is none."""
    if seconds is None or math.isnan(seconds):
        return "-"
    if math.isinf(seconds):
        return "unlimited"
    value = seconds * 1000
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f} ms"


def sample_table(records: Sequence[TransactionRecord]) -> list[str]:
    """Return the lines of a table of samples, oldest first; nothing for no records.

    At most ``TABLE_ROWS`` of them, the slowest, and then a line that says how many aren't
    shown.

    Args:
        records: The samples, as `safety_dispatches` returns them.
    """
    if not records:
        return []
    first_s = min(record.submitted_s for record in records)
    shown = slowest(records, TABLE_ROWS)
    lines = _aligned([HEAD, *(_row(record, first_s) for record in shown)])
    if left_out := len(records) - len(shown):
        lines.append(f"... and {left_out} more, none of them slower")
    return lines


def _summary(
    instrument: str, sent: Sequence[TransactionRecord], coalesced: int, slack_s: float
) -> DispatchSummary:
    latencies = Distribution.of(map(latency_s, sent))
    slowest_of_all = max(sent, key=lambda record: (latency_s(record), -record.bound_s))
    return DispatchSummary(
        instrument=instrument,
        n=latencies.n,
        p50_s=latencies.p50,
        p99_s=latencies.p99,
        max_s=latencies.max,
        bound_s=slowest_of_all.bound_s,
        over_bound=sum(is_over_bound(record, slack_s) for record in sent),
        coalesced=coalesced,
    )


def _coalesced(records: Iterable[TransactionRecord]) -> int:
    return sum(r.priority is Priority.SAFETY and r.outcome == "coalesced" for r in records)


def _row(record: TransactionRecord, first_s: float) -> tuple[str, ...]:
    return (
        record.instrument,
        _clipped(command_text(record)),
        f"{(record.submitted_s - first_s) * 1000:.1f}",
        _exact_ms(record.dispatch_latency_s),
        _exact_ms(record.bound_s),
        record.outcome,
    )


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return one line for each row; text begins at the left of its column, numbers end right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(_padded, HEAD, row, widths)).rstrip() for row in rows]


def _padded(head: str, cell: str, width: int) -> str:
    return cell.rjust(width) if head.endswith(" ms") else cell.ljust(width)


def _exact_ms(seconds: float | None) -> str:
    """Return ms to the microsecond, all with the same digits, so that the points align."""
    return "-" if seconds is None else f"{seconds * 1000:.3f}"


def _clipped(text: str) -> str:
    return text if len(text) <= COMMAND_WIDTH else text[: COMMAND_WIDTH - 3] + "..."
