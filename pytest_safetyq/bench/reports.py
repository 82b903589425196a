"""What an E-stop and a probe report; times in seconds."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

DISPATCH_SLACK_S = 0.005
"""What a dispatch may take beyond its bound: the bound counts the wire, not the processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EStopStep:
    """One command of an off sequence, or its confirm query.

    Attributes:
        instrument: The instrument's name.
        attempt: The attempt it belongs to, from 1.
        command: The command, without terminator.
        reply: What the instrument answered, or None.
        error: Why it failed, or None.
        dispatch_latency_s: From the request (the first command) or from the submission of
            this command (the others) to its first byte; None if it was never sent.
        bound_s: The bound computed when this command was submitted.
        by_express: Whether it went by the express session, past what was in flight.
    """

    instrument: str
    attempt: int
    command: str
    reply: str | None = None
    error: str | None = None
    dispatch_latency_s: float | None = None
    bound_s: float = 0.0
    by_express: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EStopReport:
    """How an E-stop went, for one instrument or for a bench.

    Attributes:
        instrument: The instrument's name; for a bench all names, separated by commas.
        confirmed: Whether "off" was read back; of a bench: from every instrument.
        dispatch_latency_s: From the request to the first byte of the first off command;
            None where there is nothing to switch off. Of a bench: the longest.
        confirmed_latency_s: From the request to the answer that confirmed; None if
            unconfirmed. Of a bench: the longest.
        bound_s: The bound on ``dispatch_latency_s``, computed at submission.
        attempts: How often the off sequence was sent.
        steps: All commands, in order.
        reason: Why.
        by_instrument: Of a bench: the report of each instrument, by name.
    """

    instrument: str
    confirmed: bool
    dispatch_latency_s: float | None
    confirmed_latency_s: float | None
    bound_s: float
    attempts: int
    steps: tuple[EStopStep, ...]
    reason: str
    by_instrument: dict[str, "EStopReport"] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """``CONFIRMED`` or ``UNCONFIRMED``."""
        return "CONFIRMED" if self.confirmed else "UNCONFIRMED"

    @property
    def each(self) -> "tuple[EStopReport, ...]":
        """The reports of the instruments of a bench, if any; of one instrument this one."""
        return tuple(self.by_instrument.values()) or ((self,) if self.instrument else ())

    def __str__(self) -> str:
        if self.confirmed:
            return f"{self.instrument}: off CONFIRMED"
        if not self.attempts:
            return f"{self.instrument}: off UNCONFIRMED: no report of it has come"
        last = next((s.error or f"{s.command} answered {s.reply!r}" for s in self.steps[::-1]), "")
        times = "attempt" if self.attempts == 1 else "attempts"
        return f"{self.instrument}: off UNCONFIRMED after {self.attempts} {times} ({last})"


def bench_report(reports: Sequence[EStopReport], reason: str) -> EStopReport:
    """Return one report for all instruments of a bench."""
    confirmed = all(report.confirmed for report in reports)
    return EStopReport(
        instrument=", ".join(report.instrument for report in reports),
        confirmed=confirmed,
        dispatch_latency_s=_longest(report.dispatch_latency_s for report in reports),
        confirmed_latency_s=(
            _longest(report.confirmed_latency_s for report in reports) if confirmed else None
        ),
        bound_s=max((report.bound_s for report in reports), default=0.0),
        attempts=max((report.attempts for report in reports), default=0),
        steps=tuple(step for report in reports for step in report.steps),
        reason=reason,
        by_instrument={report.instrument: report for report in reports},
    )


def unreported(instrument: str, reason: str) -> EStopReport:
    """Return the report of an E-stop of which nothing came back: unconfirmed."""
    return EStopReport(
        instrument=instrument,
        confirmed=False,
        dispatch_latency_s=None,
        confirmed_latency_s=None,
        bound_s=0.0,
        attempts=0,
        steps=(),
        reason=reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How a sample of times is distributed, in seconds; NaN where ``n`` is 0."""

    n: int
    min: float
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, samples: Iterable[float]) -> "Distribution":
        """Return the distribution of ``samples``."""
        ordered = sorted(samples)
        if not ordered:
            nan = math.nan
            return cls(n=0, min=nan, p50=nan, p95=nan, p99=nan, max=nan)
        return cls(
            n=len(ordered),
            min=ordered[0],
            p50=percentile(ordered, 50),
            p95=percentile(ordered, 95),
            p99=percentile(ordered, 99),
            max=ordered[-1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyStats:
    """What `probe` measured.

    Attributes:
        queue_wait: From the submission to the first byte.
        wire_time: From the first byte to the end of the transaction.
        confirmed_off: From the submission to the answer that confirmed "off".
        over_bound: How many dispatches took longer than their own bound and ``DISPATCH_SLACK_S``.
        backlog: How many POLL commands waited when each one was submitted.
        command: The safety command.
    """

    queue_wait: Distribution
    wire_time: Distribution
    confirmed_off: Distribution
    over_bound: int
    backlog: int
    command: str


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the smallest sample that ``percent`` percent of the samples don't exceed.

    The nearest-rank definition: a figure that was measured, never one in between. 100 is
    the maximum.

    Args:
        ordered: The samples, in ascending order; at least one.
        percent: More than 0, at most 100.
    """
    rank = math.ceil(percent / 100 * len(ordered))
    return ordered[max(0, rank - 1)]


def _longest(times_s: Iterable[float | None]) -> float | None:
    return max((t for t in times_s if t is not None), default=None)
