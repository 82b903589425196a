"""Which E-stops are one and the same."""

import pytest
from scheduling_helpers import loan_job, message

from pytest_safetyq.scheduling import Command, Priority, Scheduler, Verdict
from pytest_safetyq.scheduling.coalescing import Coalescing

SAFETY = Priority.SAFETY


def scheduler(coalesce_s: float = 0.05) -> Scheduler:
    return Scheduler(max_depth=10, tau_age_s=2.0, coalesce_s=coalesce_s)


def estop(cmd_id: str = "estop", payload: bytes = b"OUTP OFF") -> Command:
    return message(cmd_id, payload, SAFETY)


def finished_ok(one: Scheduler, now: float) -> Command:
    command = estop()
    one.submit(command, now)
    one.next(now)
    one.finish(command, now, succeeded=True)
    return command


def test_a_repeat_joins_the_one_that_waits() -> None:
    one, first, repeat = scheduler(), estop(), estop()
    one.submit(first, 0.0)
    verdict, twin = one.submit(repeat, 0.0)
    assert (verdict, twin) == (Verdict.COALESCED, first)
    assert repeat.state == "attached"
    assert len(one) == 1


def test_a_repeat_ends_with_one_that_is_cleared_away_before_it_was_sent() -> None:
    one, first, repeat = scheduler(), estop(), estop()
    one.submit(first, 0.0)
    one.submit(repeat, 0.0)
    assert one.clear() == [first, repeat]
    assert (first.state, repeat.state) == ("ended", "ended")


def test_a_repeat_joins_the_one_in_flight_and_ends_with_it() -> None:
    one, first, repeat = scheduler(), estop(), estop()
    one.submit(first, 0.0)
    one.next(0.0)
    assert one.submit(repeat, 1.0).twin is first
    assert one.finish(first, 2.0, succeeded=False) == [repeat]
    assert repeat.state == "ended"


@pytest.mark.parametrize(("after_s", "covered"), [(0.0, True), (0.049, True), (0.05, False)])
def test_a_success_covers_repeats_for_the_window_only(after_s: float, covered: bool) -> None:
    one = scheduler()
    first = finished_ok(one, 0.0)
    repeat = estop()
    verdict, twin = one.submit(repeat, after_s)
    assert verdict is (Verdict.COALESCED if covered else Verdict.ENQUEUED)
    assert twin is (first if covered else None)
    assert repeat.state == ("ended" if covered else "waiting")


def test_a_failure_covers_nothing() -> None:
    one, first = scheduler(), estop()
    one.submit(first, 0.0)
    one.next(0.0)
    one.finish(first, 0.0, succeeded=False)
    assert one.submit(estop(), 0.0).verdict is Verdict.ENQUEUED


def test_a_success_covers_nothing_more_once_something_else_was_sent() -> None:
    one = scheduler()
    finished_ok(one, 0.0)
    one.submit(message("poll", b"MEAS?"), 0.0)
    one.next(0.0)
    assert one.submit(estop(), 0.0).verdict is Verdict.ENQUEUED


def test_a_success_covers_nothing_more_once_a_job_has_sent_something() -> None:
    one = scheduler()
    finished_ok(one, 0.0)
    job = loan_job(Priority.CONTROL)
    one.submit(job, 0.0)
    one.next(0.0)
    assert one.submit(estop(), 0.0).verdict is Verdict.COALESCED, "a loan alone sends nothing"
    one.start_for_job(message("job", b"VOLT 5", Priority.CONTROL), job)
    assert one.submit(estop(), 0.0).verdict is Verdict.ENQUEUED


def test_what_merely_waits_takes_no_cover_away() -> None:
    one = scheduler()
    first = finished_ok(one, 0.0)
    one.submit(message("poll", b"MEAS?"), 0.0)
    assert one.submit(estop(), 0.0).twin is first


@pytest.mark.parametrize(("cmd_id", "payload"), [("other", b"OUTP OFF"), ("estop", b"OUTP OFF;")])
def test_another_name_or_payload_never_coalesces(cmd_id: str, payload: bytes) -> None:
    one = scheduler()
    one.submit(estop(), 0.0)
    assert one.submit(estop(cmd_id, payload), 0.0).verdict is Verdict.ENQUEUED
    assert len(one) == 2


def test_only_safety_coalesces() -> None:
    one = scheduler()
    for _ in range(2):
        assert one.submit(message("p", b"X"), 0.0).verdict is Verdict.ENQUEUED
    assert len(one) == 2


def test_a_safety_job_neither_covers_nor_is_covered() -> None:
    one = scheduler()
    verdicts = [one.submit(loan_job(SAFETY), 0.0).verdict for _ in range(2)]
    assert verdicts == [Verdict.ENQUEUED, Verdict.ENQUEUED]


def test_a_window_of_zero_covers_only_what_waits_or_is_in_flight() -> None:
    one = scheduler(coalesce_s=0.0)
    finished_ok(one, 0.0)
    assert one.submit(estop(), 0.0).verdict is Verdict.ENQUEUED
    assert one.submit(estop(), 0.0).verdict is Verdict.COALESCED


def test_the_end_of_a_command_that_was_never_opened_covers_nothing() -> None:
    coalescing = Coalescing(1.0)
    assert coalescing.ended(estop(), 0.0) == []
    assert coalescing.twin_of(estop(), 0.0) is None
