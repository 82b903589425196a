"""The backlog: who is best, how long what is ahead can take, and what that costs."""

import math
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from scheduling_helpers import loan_job, message

from pytest_safetyq.scheduling import Backlog, Command, Priority, Scheduler
from pytest_safetyq.scheduling.backlog import Level

SAFETY, CONTROL, QUERY, POLL = Priority


def filled(tau_age_s: float, *waiting: tuple[Priority, float, float]) -> Backlog:
    """Return a backlog of (priority, enqueued_s, timeout_s)."""
    backlog = Backlog(tau_age_s)
    for number, (priority, now, timeout_s) in enumerate(waiting):
        backlog.push(message(f"c{number}", b"X", priority, timeout_s=timeout_s), now)
    return backlog


def sizes_of(level: Level) -> tuple[int, int]:
    """Return how many commands ``level`` keeps in memory, and how many of them wait."""
    return len(level._queue), level.count


def take_all(backlog: Backlog, now: float) -> list[str]:
    order = []
    while (best := backlog.best(now)) is not None:
        order.append(best.cmd_id)
        backlog.remove(best)
    return order


def test_an_empty_backlog_has_no_best() -> None:
    assert Backlog(2.0).best(0.0) is None


def test_the_most_urgent_goes_first_whatever_the_order_of_submission() -> None:
    backlog = filled(0.0, (POLL, 0, 1), (QUERY, 0, 1), (CONTROL, 0, 1), (SAFETY, 0, 1))
    assert take_all(backlog, 0.0) == ["c3", "c2", "c1", "c0"]


def test_ties_go_by_submission() -> None:
    backlog = filled(2.0, (POLL, 0, 1), (QUERY, 2, 1), (POLL, 2, 1), (CONTROL, 4, 1))
    assert take_all(backlog, 4.0) == ["c0", "c1", "c3", "c2"]


def test_best_tells_the_effective_priority() -> None:
    backlog = filled(2.0, (POLL, 0, 1))
    seen = []
    for now in (0.0, 2.0, 4.0, 9.0):
        best = backlog.best(now)
        seen.append(best and best.effective)
    assert seen == [POLL, QUERY, CONTROL, CONTROL]


def test_a_command_is_taken_out_of_the_middle() -> None:
    backlog = Backlog(0.0)
    three = [message(str(n), b"X", POLL) for n in range(3)]
    for one in three:
        backlog.push(one, 0.0)
    backlog.remove(three[1])
    assert backlog.count == 2
    assert take_all(backlog, 0.0) == ["0", "2"]


@pytest.mark.parametrize(
    ("priority", "expected"),
    [(SAFETY, 5 + 1), (CONTROL, 5 + 1 + 2), (QUERY, 5 + 1 + 2 + 4), (POLL, 5 + 1 + 2 + 4 + 8)],
)
def test_what_is_ahead_is_the_same_level_and_the_more_urgent(
    priority: Priority, expected: float
) -> None:
    backlog = filled(0.0, (SAFETY, 0, 1), (CONTROL, 0, 2), (QUERY, 0, 4), (POLL, 0, 8))
    assert backlog.ahead_s(priority, 0.0, 5.0) == expected


def test_a_less_urgent_command_that_will_have_aged_by_then_is_ahead_too() -> None:
    backlog = filled(2.0, (CONTROL, 0, 1), (QUERY, 0, 4))
    assert backlog.ahead_s(CONTROL, 0.0, 0.5) == 1.5
    assert backlog.ahead_s(CONTROL, 0.0, 1.0) == 2.0 + 4.0
    assert backlog.ahead_s(CONTROL, 1.9, 0.0) == 1.0 + 4.0


def test_one_that_ages_can_give_the_next_the_time_to_age() -> None:
    backlog = filled(2.0, (QUERY, 0, 3), (POLL, 0, 8))
    assert backlog.ahead_s(CONTROL, 0.0, 0.0) == 0.0
    assert backlog.ahead_s(CONTROL, 2.0, 0.0) == 3.0 + 8.0


def test_nothing_ages_ahead_of_safety() -> None:
    backlog = filled(0.001, (CONTROL, 0, 1), (QUERY, 0, 1), (POLL, 0, 1))
    assert backlog.ahead_s(SAFETY, 1e6, 0.25) == 0.25


def test_a_job_without_a_budget_makes_the_bound_infinite_while_it_waits() -> None:
    backlog = Backlog(0.0)
    job = loan_job(QUERY)
    backlog.push(job, 0.0)
    assert backlog.ahead_s(QUERY, 0.0, 0.0) == math.inf
    assert backlog.ahead_s(CONTROL, 0.0, 0.0) == 0.0
    backlog.remove(job)
    assert backlog.ahead_s(QUERY, 0.0, 0.0) == 0.0


def test_the_sums_come_back_to_exactly_zero() -> None:
    backlog = Backlog(0.0)
    waiting = [message(str(n), b"X", POLL, timeout_s=0.1 + n / 7) for n in range(1000)]
    for one in waiting:
        backlog.push(one, 0.0)
    for one in reversed(waiting):
        backlog.remove(one)
    assert backlog.ahead_s(POLL, 0.0, 0.0) == 0.0


@pytest.mark.parametrize("order", ["oldest first", "newest first", "every third last"])
def test_cancelled_commands_never_hold_more_memory_than_those_that_wait(order: str) -> None:
    backlog = Backlog(0.0)
    waiting = [message(str(n), b"X", POLL) for n in range(999)]
    for one in waiting:
        backlog.push(one, 0.0)
    orders = {
        "oldest first": waiting,
        "newest first": waiting[::-1],
        "every third last": sorted(waiting, key=lambda one: int(one.cmd_id) % 3),
    }
    for cancelled, one in enumerate(orders[order], 1):
        backlog.remove(one)
        kept, alive = sizes_of(backlog.levels[POLL])
        assert alive == backlog.count == 999 - cancelled
        assert kept <= 2 * alive


def test_cancelling_behind_one_that_never_goes_costs_constant_time_on_the_average() -> None:
    def lines_each(count: int) -> float:
        backlog = Backlog(0.0)
        waiting = [message(str(n), b"X", POLL) for n in range(count)]
        for one in waiting:
            backlog.push(one, 0.0)

        def cancel_all_but_the_first() -> None:
            for one in waiting[1:]:
                backlog.remove(one)

        return lines_of(cancel_all_but_the_first) / count

    assert lines_each(10_000) <= 1.5 * lines_each(100)


class CountedInt(int):
    """A submission number that counts how often it is compared or hashed."""

    touched = 0

    def __lt__(self, other: int) -> bool:
        CountedInt.touched += 1
        return int(self) < int(other)

    def __hash__(self) -> int:
        CountedInt.touched += 1
        return int.__hash__(self)

    def __eq__(self, other: object) -> bool:
        CountedInt.touched += 1
        return int.__eq__(self, other)


def lines_of(action: Callable[[], object]) -> int:
    """Count the lines of Python that ``action`` executes."""
    count = 0

    def tracer(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def steps_behind(depth: int) -> tuple[int, int]:
    """Count lines, and uses of the submission numbers, of one submission and one pick."""
    scheduler = Scheduler(max_depth=depth + 4, tau_age_s=2.0, coalesce_s=0.05)
    for number in range(depth):
        scheduler.submit(message(str(number), b"X", Priority(1 + number % 3)), 0.0)
    scheduler._backlog._sequence = CountedInt(depth)

    def one_round() -> None:
        scheduler.submit(message("e", b"OFF", SAFETY, now=1.0), 1.0)
        assert scheduler.next(1.0) is not None
        scheduler.submit(message("p", b"X", POLL, now=1.0), 1.0)
        assert scheduler.next(1.0) is not None

    CountedInt.touched = 0
    return lines_of(one_round), CountedInt.touched


def test_a_submission_and_a_pick_cost_the_same_behind_ten_and_behind_thirty_thousand() -> None:
    few, many = steps_behind(9), steps_behind(30_000)
    assert few == many
    assert 0 < many[0] < 400


def test_taking_a_cancelled_command_out_costs_the_same_behind_ten_and_behind_many() -> None:
    def cost(depth: int) -> int:
        scheduler = Scheduler(max_depth=depth, tau_age_s=2.0, coalesce_s=0.05)
        waiting: list[Command] = [message(str(n), b"X", POLL) for n in range(depth)]
        for one in waiting:
            scheduler.submit(one, 0.0)
        return lines_of(lambda: scheduler.withdraw(waiting[depth // 2]))

    assert cost(10) == cost(10_000)
