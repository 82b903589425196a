"""What a decision costs, behind ten waiting commands and behind a million."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from benchmarks.figures import Figure, spread
from pytest_safetyq.scheduling import Command, Priority, Scheduler

DEPTHS = (10, 10_000, 1_000_000)
BATCH = 2_000
ROUNDS = 15
TARGET_US = 5.0
TARGET_RATIO = 1.5
TAU_AGE_S = 2.0
LEVELS = (Priority.CONTROL, Priority.QUERY, Priority.POLL)


def run() -> list[Figure]:
    """Measure all depths in turn, round by round, so that noise hits all alike."""
    schedulers = {depth: filled(depth) for depth in DEPTHS}
    costs_us: dict[int, list[float]] = {depth: [] for depth in DEPTHS}
    creation_us: list[float] = []
    with no_collection():
        for _ in range(ROUNDS):
            for depth, scheduler in schedulers.items():
                created_s, commands = created(BATCH)
                creation_us.append(created_s / BATCH * 1e6)
                costs_us[depth].append(push_and_pop_s(scheduler, commands) / BATCH * 1e6)
    return [*figures(costs_us), Figure("creating a command", median(creation_us), "µs")]


def figures(costs_us: dict[int, list[float]]) -> list[Figure]:
    """Return a figure for each depth, and the ratio of the deepest to the shallowest."""
    lines = [
        Figure(
            f"submit + next, {depth:,} waiting", median(costs), "µs", TARGET_US, spread(costs, "µs")
        )
        for depth, costs in costs_us.items()
    ]
    shallow, deep = median(costs_us[DEPTHS[0]]), median(costs_us[DEPTHS[-1]])
    ratio = f"the same, {DEPTHS[-1]:,} to {DEPTHS[0]:,} waiting"
    return [*lines, Figure(ratio, deep / shallow, "x", TARGET_RATIO)]


def filled(depth: int) -> Scheduler:
    """Return a scheduler with ``depth`` commands waiting, spread over the levels."""
    scheduler = Scheduler(max_depth=depth + 1, tau_age_s=TAU_AGE_S, coalesce_s=0.05)
    for command in created(depth)[1]:
        scheduler.submit(command, 0.0)
    return scheduler


def created(count: int) -> tuple[float, list[Command]]:
    """Return ``count`` new commands, and the seconds that it took to create them."""
    begun_s = time.perf_counter()
    commands = [
        Command(
            "measure",
            b"MEAS?",
            LEVELS[number % len(LEVELS)],
            timeout_s=1.0,
            expects_reply=True,
            submitted_s=0.0,
        )
        for number in range(count)
    ]
    return time.perf_counter() - begun_s, commands


def push_and_pop_s(scheduler: Scheduler, commands: list[Command]) -> float:
    """Push each command and pop the next; the depth stays. Return the seconds it took."""
    now = TAU_AGE_S  # some have aged, so that effective priorities are really computed
    begun_s = time.perf_counter()
    for command in commands:
        scheduler.submit(command, now)
        scheduler.next(now)
    return time.perf_counter() - begun_s


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector out, as `timeit` does."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
