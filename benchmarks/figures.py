"""A figure: what was measured, how much it is, and what it is held against."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    Attributes:
        measured: What was measured.
        value: How much it is, in ``unit``.
        unit: ``s``, ``ms``, ``µs``, or ``x`` for a ratio.
        target: The most it should be; None: there for comparison only.
        note: What else is worth knowing, such as the spread.
    """

    measured: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """``ok`` or ``over``; empty where nothing was aimed at."""
        if self.target is None:
            return ""
        return "ok" if self.value <= self.target else "over"

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return the line, cell by cell."""
        target = "" if self.target is None else f"<= {self.target:g} {self.unit}"
        return self.measured, f"{self.value:.4g} {self.unit}", target, self.verdict, self.note


def table(figures: Sequence[Figure]) -> str:
    """Return ``figures`` as a table, one line each."""
    rows = [("measured", "figure", "target", "", ""), *(figure.cells() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def percentile(samples: Sequence[float], percent: float) -> float:
    """Return the smallest sample that ``percent`` of all samples don't exceed."""
    ordered = sorted(samples)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, int(rank) - 1)]


def spread(samples: Sequence[float], unit: str) -> str:
    """Return the middle half of ``samples``, for a note."""
    low, high = percentile(samples, 25), percentile(samples, 75)
    return f"middle half {low:.3g} to {high:.3g} {unit}, n = {len(samples)}"


def distribution(measured: str, samples_s: Sequence[float], *, note: str = "") -> list[Figure]:
    """Return median, 99th percentile and maximum of ``samples_s``, in milliseconds."""
    count = f"n = {len(samples_s)}"
    values = {
        "p50": median(samples_s),
        "p99": percentile(samples_s, 99),
        "max": max(samples_s),
    }
    return [
        Figure(f"{measured}, {name}", value * 1e3, "ms", note=count if name == "p50" else note)
        for name, value in values.items()
    ]
