"""Holding the safety dispatches of a test against what its marker allows."""

from pytest_safetyq.bench.reports import percentile
from pytest_safetyq.plugin.evidence.dispatches import safety_dispatches, sample_table
from pytest_safetyq.plugin.markers import SafetyLatency
from pytest_safetyq.scheduling import TransactionRecord, is_over_bound


def breach(mark: SafetyLatency, records: list[TransactionRecord]) -> str | None:
    """Return what is wrong with the dispatches in ``records``, with their table; None: nothing.

    Args:
        mark: What the marker says.
        records: The records of the test.
    """
    dispatches = [
        record
        for record in safety_dispatches(records)
        if mark.instrument is None or record.instrument == mark.instrument
    ]
    reasons = list(_reasons(mark, dispatches))
    if not reasons:
        return None
    return "\n".join([f"safety_latency: {'; '.join(reasons)}", *sample_table(dispatches)])


def _reasons(mark: SafetyLatency, dispatches: list[TransactionRecord]) -> list[str]:
    reasons = []
    if len(dispatches) < mark.min_samples:
        of = f" of {mark.instrument}" if mark.instrument else ""
        reasons.append(
            f"{len(dispatches)} safety dispatches{of} were made, at least {mark.min_samples}"
            " are asked for"
        )
    if not dispatches:
        return reasons
    if mark.max_ms is not None:
        latencies_ms = sorted(_latency_ms(record) for record in dispatches)
        reached_ms = percentile(latencies_ms, mark.percentile)
        if reached_ms > mark.max_ms:
            reasons.append(
                f"p{mark.percentile:g} is {reached_ms:.3f} ms, and at most {mark.max_ms:g} allowed"
            )
    if mark.within_bound:
        over = [r for r in dispatches if is_over_bound(r, mark.slack_ms / 1000)]
        if over:
            reasons.append(
                f"{len(over)} of {len(dispatches)} dispatches exceed their own bound by more than"
                f" {mark.slack_ms:g} ms"
            )
    return reasons


def _latency_ms(record: TransactionRecord) -> float:
    latency_s = record.dispatch_latency_s
    assert latency_s is not None
    return latency_s * 1000
