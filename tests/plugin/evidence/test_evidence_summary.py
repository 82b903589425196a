"""The section at the end of the run."""

from test_evidence_samples import empty_run, estop, instrument, run_of, sample

from pytest_safetyq.plugin.evidence.summary import instrument_summaries, summary_lines, unconfirmed


def test_a_run_that_used_nothing_says_nothing() -> None:
    assert summary_lines(empty_run()) == []


def test_one_line_for_each_instrument_aligned() -> None:
    run = run_of(
        sample(0.0002),
        sample(0.0004),
        sample(None, outcome="coalesced"),
        sample(0.3, instrument="laser", bound_s=0.2),
        instruments=[instrument(), instrument("laser", simulated=False), instrument("psu")],
    )
    assert summary_lines(run) == [
        "smu    GPIB0::5::INSTR  SIMULATED  safety dispatches 2  p50 0.20 ms  p99 0.40 ms"
        "  max 0.40 ms  bound 2000 ms  ok          1 coalesced",
        "laser  GPIB0::5::INSTR  REAL       safety dispatches 1  p50  300 ms  p99  300 ms"
        "  max  300 ms  bound  200 ms  OVER BOUND",
        "psu    GPIB0::5::INSTR  SIMULATED  safety dispatches 0  p50       -  p99       -"
        "  max       -  bound       -  -",
        "safe state  smu CONFIRMED 1 of 1",
    ]


def test_what_is_unconfirmed_follows_each_once() -> None:
    run = run_of(estops=[estop(confirmed=False), estop(confirmed=False)])
    what = "smu: off UNCONFIRMED after 1 attempt (:OUTP? answered '0')"
    run.unconfirmed = ["the bench: lost", what]
    assert summary_lines(run)[1:] == [
        "safe state  smu CONFIRMED 0 of 2",
        "UNCONFIRMED  the bench: lost",
        f"UNCONFIRMED  {what}",
    ]


def test_a_report_that_came_with_a_test_counts_without_the_list_of_the_run() -> None:
    assert len(unconfirmed(run_of(estops=[estop(confirmed=False)]))) == 1


def test_unconfirmed_is_said_although_no_test_left_evidence() -> None:
    run = empty_run()
    run.unconfirmed = ["the bench: lost"]
    assert summary_lines(run) == ["UNCONFIRMED  the bench: lost"]


def test_an_instrument_nobody_described_is_taken_for_real() -> None:
    (one,) = instrument_summaries(run_of(sample(), instruments=[]))
    assert (one.name, one.kind, one.opened) == ("smu", "REAL", None)
