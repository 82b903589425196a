"""The reports of all E-stops, for each client to take once."""

from collections import deque

from pytest_safetyq.bench.reports import EStopReport

KEPT = 1000
"""How many reports are kept; more than that between two tests is a storm."""


class EStopLog:
    """Keeps the latest reports, oldest first."""

    def __init__(self) -> None:
        self._reports: deque[EStopReport] = deque(maxlen=KEPT)
        self._count = 0

    def add(self, report: EStopReport) -> None:
        """Take a report."""
        self._reports.append(report)
        self._count += 1

    def since(self, seen: int) -> tuple[list[EStopReport], int]:
        """Return the reports after the first ``seen``, as far as they are kept.

        Returns:
            The reports, and how many there have been: what to say next time.
        """
        new = min(self._count - seen, len(self._reports))
        return list(self._reports)[len(self._reports) - new :], self._count
