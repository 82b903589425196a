"""The wait for a link that must be restored is part of the bound of whoever waits for it."""

import math

import pytest
from scheduling_helpers import loan_job, message

from pytest_safetyq.scheduling import LatchState, Priority, Scheduler, Verdict

SAFETY, CONTROL, QUERY, POLL = Priority


def scheduler(*, max_depth: int = 10) -> Scheduler:
    return Scheduler(max_depth=max_depth, tau_age_s=0.0, coalesce_s=1.0)


@pytest.mark.parametrize("priority", list(Priority))
def test_the_recovery_is_added_to_what_is_ahead(priority: Priority) -> None:
    decides = scheduler()
    decides.occupy(12.0)
    decides.submit(message("ahead", priority=SAFETY, timeout_s=3.0), now=10.0)
    command = message("c", priority=priority)
    decides.submit(command, 10.0, 0.5)
    assert command.bound_s == pytest.approx(2.0 + 3.0 + 0.5)


def test_without_a_word_about_it_there_is_none() -> None:
    decides = scheduler()
    command = message("c", priority=SAFETY)
    decides.submit(command, 10.0)
    assert command.bound_s == 0.0


def test_the_recovery_of_one_is_not_charged_to_the_next() -> None:
    decides = scheduler()
    decides.submit(message("a", priority=SAFETY, timeout_s=1.0), 10.0, 0.5)
    command = message("b", priority=SAFETY)
    decides.submit(command, 10.0)
    assert command.bound_s == pytest.approx(1.0)


def test_the_bound_is_told_also_of_what_is_refused_or_coalesced() -> None:
    decides = scheduler(max_depth=0)
    full = message("full", priority=POLL)
    assert decides.submit(full, 10.0, 0.5).verdict is Verdict.FULL
    decides.submit(message("s", priority=SAFETY, timeout_s=1.0), 10.0)
    repeat = message("s", priority=SAFETY)
    assert decides.submit(repeat, 10.0, 0.5).verdict is Verdict.COALESCED
    assert (full.bound_s, repeat.bound_s) == (pytest.approx(0.5), pytest.approx(1.5))


def test_behind_a_job_without_a_budget_there_is_no_bound_with_or_without_recovery() -> None:
    decides = scheduler()
    job = loan_job(CONTROL)
    decides.submit(job, 10.0)
    decides.next(10.0)
    decides.borrowed(job, math.inf)
    behind, before = message("behind", priority=QUERY), message("before", priority=SAFETY)
    decides.submit(behind, 10.0, 0.5)
    decides.submit(before, 10.0, 0.5)
    assert (behind.bound_s, before.bound_s) == (math.inf, 0.5)


def test_a_rearm_needs_no_reason_and_keeps_the_reason_of_the_trip() -> None:
    decides = scheduler()
    decides.submit(message("p", priority=POLL), 10.0)
    assert [c.cmd_id for c in decides.trip("smoke")] == ["p"]
    assert decides.submit(message("q", priority=POLL), 10.0).verdict is Verdict.LATCHED
    decides.rearm()
    assert decides.latch.state is LatchState.ARMED
    assert decides.latch.reason == "smoke"
    assert decides.submit(message("r", priority=POLL), 10.0).verdict is Verdict.ENQUEUED
