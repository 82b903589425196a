"""What a report says in one line."""

from pytest_safetyq.bench.reports import EStopReport, EStopStep, unreported


def _report(attempts: int) -> EStopReport:
    step = EStopStep(instrument="smu", attempt=attempts, command=":OUTP?", reply="1")
    return EStopReport(
        instrument="smu",
        confirmed=False,
        dispatch_latency_s=0.0,
        confirmed_latency_s=None,
        bound_s=0.0,
        attempts=attempts,
        steps=(step,),
        reason="smoke",
    )


def test_what_came_last_is_said_of_an_unconfirmed_one() -> None:
    assert str(_report(3)) == "smu: off UNCONFIRMED after 3 attempts (:OUTP? answered '1')"
    assert str(_report(1)) == "smu: off UNCONFIRMED after 1 attempt (:OUTP? answered '1')"


def test_of_one_that_never_came_it_is_said_that_it_did_not() -> None:
    assert str(unreported("smu, load", "smoke")) == (
        "smu, load: off UNCONFIRMED: no report of it has come"
    )
