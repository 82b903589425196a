"""When the transaction in flight is broken off for a SAFETY command, and what the bound says."""

import pytest
from scheduling_helpers import message

from pytest_safetyq.scheduling import Priority, Scheduler

SAFETY, CONTROL, QUERY, POLL = Priority


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler(max_depth=10, tau_age_s=0.0, coalesce_s=0.0)


def bound_of(scheduler: Scheduler, priority: Priority, now: float) -> float:
    command = message(f"c{now}", priority=priority, now=now)
    scheduler.submit(command, now)
    return command.bound_s


def test_it_is_broken_off_where_that_is_sooner_than_the_end_of_its_budget(
    scheduler: Scheduler,
) -> None:
    scheduler.occupy(5.0, interrupt_s=0.25)
    assert scheduler.break_off(1.0)


@pytest.mark.parametrize("now", [4.75, 4.9, 5.0, 6.0])
def test_it_is_left_to_end_where_that_is_as_soon(scheduler: Scheduler, now: float) -> None:
    scheduler.occupy(5.0, interrupt_s=0.25)
    assert not scheduler.break_off(now)


def test_it_is_broken_off_once(scheduler: Scheduler) -> None:
    scheduler.occupy(5.0, interrupt_s=0.25)
    assert scheduler.break_off(1.0)
    assert not scheduler.break_off(1.1)


def test_what_can_not_be_broken_off_is_not(scheduler: Scheduler) -> None:
    assert not scheduler.break_off(0.0), "nothing is in flight"
    scheduler.occupy(5.0)
    assert not scheduler.break_off(0.0)
    scheduler.occupy(5.0, interrupt_s=0.25)
    scheduler.occupy(None)
    assert not scheduler.break_off(0.0)


def test_the_bound_of_safety_counts_the_interrupt_in_place_of_the_rest_of_the_budget(
    scheduler: Scheduler,
) -> None:
    scheduler.occupy(5.0, interrupt_s=0.25)
    assert bound_of(scheduler, SAFETY, now=1.0) == 0.25


def test_the_bound_of_safety_counts_the_rest_of_the_budget_where_that_is_shorter(
    scheduler: Scheduler,
) -> None:
    scheduler.occupy(5.0, interrupt_s=0.25)
    assert bound_of(scheduler, SAFETY, now=4.9) == pytest.approx(0.1)


def test_the_bound_of_a_second_safety_command_counts_what_remains_of_the_interrupt(
    scheduler: Scheduler,
) -> None:
    scheduler.occupy(5.0, interrupt_s=0.25)
    first = message("first", priority=SAFETY, now=1.0, timeout_s=0.5)
    scheduler.submit(first, 1.0)
    assert scheduler.break_off(1.0)
    assert bound_of(scheduler, SAFETY, now=1.1) == pytest.approx(0.15 + 0.5)


@pytest.mark.parametrize("priority", [CONTROL, QUERY, POLL])
def test_nothing_but_safety_gains_by_it(scheduler: Scheduler, priority: Priority) -> None:
    scheduler.occupy(5.0, interrupt_s=0.25)
    assert bound_of(scheduler, priority, now=1.0) == 4.0
