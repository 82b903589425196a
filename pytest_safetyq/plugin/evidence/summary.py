"""What the run comes down to: one line for each instrument, one for each that isn't safe."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.plugin.evidence.dispatches import DispatchSummary, ms, summarise
from pytest_safetyq.plugin.evidence.model import InstrumentEvidence, RunEvidence
from pytest_safetyq.scheduling import TransactionRecord

LABELS = ("", "", "", "safety dispatches", "p50", "p99", "max", "bound", "", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentSummary:
    """One instrument over the whole run.

    Attributes:
        name: Its name on the bench.
        opened: What it said of itself; None if no test had it open at its end.
        dispatches: Its safety dispatches; None if it was sent none.
    """

    name: str
    opened: InstrumentEvidence | None
    dispatches: DispatchSummary | None

    @property
    def kind(self) -> str:
        """``REAL`` or ``SIMULATED``; what isn't known to be a simulation is real."""
        return "SIMULATED" if self.opened is not None and self.opened.simulated else "REAL"


def instrument_summaries(run: RunEvidence) -> list[InstrumentSummary]:
    """Return the instruments of the run in the order in which tests used them."""
    opened = {one.name: one for test in run.tests for one in test.instruments}
    records = records_of(run)
    dispatches = {one.instrument: one for one in summarise(records)}
    return [
        InstrumentSummary(name=name, opened=opened.get(name), dispatches=dispatches.get(name))
        for name in dict.fromkeys([*opened, *(record.instrument for record in records)])
    ]


def records_of(run: RunEvidence) -> list[TransactionRecord]:
    """Return the records of all tests, in the order of the tests."""
    return [record for test in run.tests for record in test.records]


def unconfirmed(run: RunEvidence) -> list[str]:
    """Return everything that was not confirmed off, in words, each once.

    The reports of the tests count too: a process that dies takes the list of the run along,
    but not what came with the tests before.
    """
    failed = (str(one) for one in safe_states(run) if not one.confirmed)
    return list(dict.fromkeys([*run.unconfirmed, *failed]))


def safe_states(run: RunEvidence) -> list[EStopReport]:
    """Return the report of every safe state that was asked for, of each instrument one."""
    reports = [*(report for test in run.tests for report in test.estops), *run.endings]
    return [one for report in reports for one in report.each]


def summary_lines(run: RunEvidence) -> list[str]:
    """Return the lines for the terminal; none for a run that used no instrument."""
    columns = list(zip(*map(_row, instrument_summaries(run)), strict=True))
    labelled = [_column(*pair) for pair in zip(LABELS, columns, strict=True)] if columns else []
    lines = ["  ".join(cells).rstrip() for cells in zip(*labelled, strict=True)]
    return [*lines, *_confirmed(run), *(f"UNCONFIRMED  {what}" for what in unconfirmed(run))]


def _confirmed(run: RunEvidence) -> list[str]:
    """Return the line that says how often each instrument was read back as off."""
    asked = Counter(one.instrument for one in safe_states(run))
    confirmed = Counter(one.instrument for one in safe_states(run) if one.confirmed)
    counts = [f"{name} CONFIRMED {confirmed[name]} of {asked[name]}" for name in asked]
    return [f"safe state  {', '.join(counts)}"] if counts else []


def _column(label: str, cells: Sequence[str]) -> list[str]:
    """Return the cells of one column with the same width; what has a label is a number."""
    width = max(map(len, cells))
    if label:
        return [f"{label} {cell.rjust(width)}" for cell in cells]
    return [cell.ljust(width) for cell in cells]


def _row(instrument: InstrumentSummary) -> tuple[str, ...]:
    sent = instrument.dispatches
    resource = "-" if instrument.opened is None else instrument.opened.resource
    known = (instrument.name, resource, instrument.kind)
    if sent is None:
        return (*known, "0", "-", "-", "-", "-", "-", "")
    return (
        *known,
        str(sent.n),
        ms(sent.p50_s),
        ms(sent.p99_s),
        ms(sent.max_s),
        ms(sent.bound_s),
        sent.verdict,
        f"{sent.coalesced} coalesced" if sent.coalesced else "",
    )
