"""JUnit properties: what a CI server sees of a test's safety dispatches."""

from pytest_safetyq.plugin.evidence.dispatches import summarise
from pytest_safetyq.plugin.evidence.model import TestEvidence


def properties(evidence: TestEvidence) -> list[tuple[str, object]]:
    """Return the properties ``safetyq.*`` of one test; times in ms."""
    found: list[tuple[str, object]] = []
    for instrument in evidence.instruments:
        kind = "SIMULATED" if instrument.simulated else "REAL"
        shown = f"{instrument.resource} {instrument.model} {kind}"
        found.append((f"safetyq.{instrument.name}.instrument", shown))
    for summary in summarise(evidence.records):
        prefix = f"safetyq.{summary.instrument}."
        found += [
            (prefix + "dispatches", summary.n),
            (prefix + "p50_ms", _ms(summary.p50_s)),
            (prefix + "p99_ms", _ms(summary.p99_s)),
            (prefix + "max_ms", _ms(summary.max_s)),
            (prefix + "bound_ms", _ms(summary.bound_s)),
            (prefix + "over_bound", summary.over_bound),
        ]
    if evidence.estops:
        confirmed = all(report.confirmed for report in evidence.estops)
        found.append(("safetyq.safe_state", "CONFIRMED" if confirmed else "UNCONFIRMED"))
    return found


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3f}"
