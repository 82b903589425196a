"""The statistics of safety dispatches against a naive model, and their table."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_evidence_samples import any_record, sample

from pytest_safetyq import Priority, TransactionRecord
from pytest_safetyq.plugin.evidence.dispatches import (
    TABLE_ROWS,
    command_text,
    latency_s,
    ms,
    safety_dispatches,
    sample_table,
    slowest,
    summarise,
)


def naive_percentile(samples: list[float], percent: int) -> float:
    """The smallest sample that at least ``percent`` percent of the samples don't exceed."""
    return min(
        s for s in samples if sum(other <= s for other in samples) * 100 >= percent * len(samples)
    )


@given(st.lists(any_record()), st.floats(0, 1))
def test_the_summary_agrees_with_a_naive_model(
    records: list[TransactionRecord], slack_s: float
) -> None:
    expected = []
    for name in dict.fromkeys(r.instrument for r in records):
        safety = [r for r in records if r.instrument == name and r.priority == Priority.SAFETY]
        sent = [r for r in safety if r.dispatched_s is not None]
        times = [r.dispatched_s - r.submitted_s for r in sent if r.dispatched_s is not None]
        if times:
            expected.append(
                (
                    name,
                    len(times),
                    naive_percentile(times, 50),
                    naive_percentile(times, 99),
                    max(times),
                    sum(t > r.bound_s + slack_s for t, r in zip(times, sent, strict=True)),
                    len([r for r in safety if r.outcome == "coalesced"]),
                )
            )
    assert [
        (s.instrument, s.n, s.p50_s, s.p99_s, s.max_s, s.over_bound, s.coalesced)
        for s in summarise(records, slack_s=slack_s)
    ] == expected


@given(st.lists(any_record()))
def test_the_bound_shown_is_of_the_slowest_dispatch(
    records: list[TransactionRecord],
) -> None:
    for summary in summarise(records):
        sent = [r for r in safety_dispatches(records) if r.instrument == summary.instrument]
        assert summary.bound_s == min(r.bound_s for r in sent if latency_s(r) == summary.max_s)


def test_only_safety_that_was_sent_is_a_safety_dispatch() -> None:
    sent = sample()
    others = [
        sample(None, outcome="coalesced"),
        sample(None, outcome="refused"),
        sample(priority=Priority.CONTROL),
    ]
    assert safety_dispatches([*others, sent]) == [sent]


def test_an_instrument_without_dispatches_has_no_summary() -> None:
    assert summarise([sample(None, outcome="coalesced"), sample(priority=Priority.POLL)]) == []
    assert summarise([]) == []


@pytest.mark.parametrize(
    ("latency", "verdict"), [(0.104, "ok"), (0.105, "ok"), (0.106, "OVER BOUND")]
)
def test_the_slack_of_5_ms_belongs_to_the_bound(latency: float, verdict: str) -> None:
    assert summarise([sample(latency, bound_s=0.1)])[0].verdict == verdict


def test_a_latency_that_is_not_a_number_never_passes_for_early() -> None:
    broken = sample(math.nan)
    summary = summarise([broken, sample(0.001)])[0]
    assert (summary.p50_s, summary.max_s, summary.over_bound) == (0.001, math.inf, 1)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.00021, "0.21 ms"),
        (0.0123, "12.3 ms"),
        (2.0, "2000 ms"),
        (0.0, "0.00 ms"),
        (None, "-"),
        (math.nan, "-"),
        (math.inf, "unlimited"),
    ],
)
def test_ms_has_three_digits_or_says_what_it_is(seconds: float | None, shown: str) -> None:
    assert ms(seconds) == shown


@pytest.mark.parametrize(
    ("payload", "shown"),
    [(b":OUTP OFF\r\n", ":OUTP OFF"), (b"\x00\xff'", "\\x00\\xff'"), (b"", "off")],
)
def test_a_command_is_shown_without_terminator_and_printable(payload: bytes, shown: str) -> None:
    assert command_text(sample(payload=payload)) == shown


def test_the_table_is_aligned_and_relative_to_the_first() -> None:
    records = [
        sample(0.00021, submitted_s=10.0, bound_s=0.5),
        sample(0.0125, submitted_s=11.5, instrument="laser", outcome="timeout"),
    ]
    assert sample_table(records) == [
        "instrument  command    submitted ms  latency ms  bound ms  outcome",
        "smu         :OUTP OFF           0.0       0.210   500.000  ok",
        "laser       :OUTP OFF        1500.0      12.500  2000.000  timeout",
    ]


def test_no_samples_are_no_table() -> None:
    assert sample_table([]) == []


def test_a_sample_without_latency_has_a_dash() -> None:
    assert sample_table([sample(None)])[1].split()[4] == "-"


def test_a_long_command_is_cut() -> None:
    assert f"{'A' * 37}...  " in sample_table([sample(payload=b"A" * 100)])[1]


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=3 * TABLE_ROWS))
def test_the_table_never_leaves_out_the_slowest(latencies_us: list[int]) -> None:
    records = [sample(t / 1e6, cmd_id=str(i)) for i, t in enumerate(latencies_us)]
    shown = slowest(records, TABLE_ROWS)
    assert shown == [r for r in records if r in shown], "the order is that of the records"
    left_out = [r for r in records if r not in shown]
    assert all(latency_s(a) <= latency_s(b) for a in left_out for b in shown)
    lines = sample_table(records)
    assert len(lines) == 1 + len(shown) + bool(left_out)
    if left_out:
        assert lines[-1] == f"... and {len(left_out)} more, none of them slower"
