"""The wait for a link that must be restored is part of the bound of whoever waits for it."""

import math

import pytest
from scheduling_helpers import loan_job, message

from pytest_safetyq.scheduling import (
    Condition,
    LatchState,
    Priority,
    Scheduler,
    Verdict,
    recovery_s,
)

SAFETY, CONTROL, QUERY, POLL = Priority
CLEAN, DIRTY, LOST = Condition


def scheduler(*, max_depth: int = 10) -> Scheduler:
    return Scheduler(max_depth=max_depth, tau_age_s=0.0, coalesce_s=1.0)


@pytest.mark.parametrize("priority", list(Priority))
def test_a_lost_link_may_be_restored_for_each_that_is_ahead_and_then_for_the_command(
    priority: Priority,
) -> None:
    decides = scheduler()
    decides.occupy(12.0)
    for name in "ab":
        decides.submit(message(name, priority=SAFETY, timeout_s=3.0), now=10.0)
    command = message("c", priority=priority)
    decides.submit(command, 10.0, LOST, 0.5)
    assert command.bound_s == pytest.approx(2.0 + (0.5 + 3.0) + (0.5 + 3.0) + 0.5)


def test_on_a_link_that_is_not_lost_only_those_that_read_a_reply_wait_for_it() -> None:
    decides = scheduler()
    decides.submit(message("write", priority=SAFETY, timeout_s=3.0), 10.0, DIRTY, 0.5)
    decides.submit(message("ask", priority=SAFETY, expects_reply=True), 10.0, DIRTY, 0.5)
    write, ask = message("c", priority=SAFETY), message("d", priority=SAFETY, expects_reply=True)
    decides.submit(write, 10.0, DIRTY, 0.5)
    decides.submit(ask, 10.0, DIRTY, 0.5)
    assert write.bound_s == pytest.approx(3.0 + (0.5 + 1.0))
    assert ask.bound_s == pytest.approx(3.0 + (0.5 + 1.0) + 1.0 + 0.5)


@pytest.mark.parametrize(
    ("condition", "expects_reply", "busy", "waits"),
    [
        (CLEAN, False, False, False),
        (CLEAN, False, True, False),
        (CLEAN, True, False, False),
        (CLEAN, True, True, True),
        (DIRTY, False, False, False),
        (DIRTY, False, True, False),
        (DIRTY, True, False, True),
        (DIRTY, True, True, True),
        (LOST, False, False, True),
        (LOST, False, True, True),
        (LOST, True, False, True),
        (LOST, True, True, True),
    ],
)
def test_who_waits_for_a_link_in_which_condition(
    condition: Condition, expects_reply: bool, busy: bool, waits: bool
) -> None:
    decides = scheduler()
    if busy:
        decides.occupy(10.0)
    command = message("c", priority=SAFETY, expects_reply=expects_reply)
    decides.submit(command, 10.0, condition, 0.5)
    assert command.bound_s == (0.5 if waits else 0.0)
    assert recovery_s(condition, 0.5, expects_reply=expects_reply, busy=busy) == command.bound_s


def test_what_has_left_the_queue_is_charged_to_nobody() -> None:
    decides = scheduler()
    gone = message("a", priority=CONTROL, expects_reply=True)
    decides.submit(gone, 10.0, LOST, 0.5)
    decides.withdraw(gone)
    command = message("b", priority=CONTROL)
    decides.submit(command, 10.0, LOST, 0.5)
    assert command.bound_s == 0.5


def test_the_bound_is_told_also_of_what_is_refused_or_coalesced() -> None:
    decides = scheduler(max_depth=0)
    full = message("full", priority=POLL)
    assert decides.submit(full, 10.0, LOST, 0.5).verdict is Verdict.FULL
    decides.submit(message("s", priority=SAFETY, timeout_s=1.0), 10.0)
    repeat = message("s", priority=SAFETY)
    assert decides.submit(repeat, 10.0, LOST, 0.5).verdict is Verdict.COALESCED
    assert (full.bound_s, repeat.bound_s) == (0.5, 0.5 + 1.0 + 0.5)


def test_behind_a_job_without_a_budget_there_is_no_bound_with_or_without_recovery() -> None:
    decides = scheduler()
    job = loan_job(CONTROL)
    decides.submit(job, 10.0)
    decides.next(10.0)
    decides.borrowed(job, math.inf)
    behind, before = message("behind", priority=QUERY), message("before", priority=SAFETY)
    decides.submit(behind, 10.0, LOST, 0.5)
    decides.submit(before, 10.0, LOST, 0.5)
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
