"""What a decision costs, behind ten waiting commands and behind a million."""

import gc
import time
from collections import deque
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
    bare = deque(created(DEPTHS[-1])[1])
    costs_us: dict[int, list[float]] = {depth: [] for depth in DEPTHS}
    bare_us: list[float] = []
    creation_us: list[float] = []
    with no_collection():
        for _ in range(ROUNDS):
            for depth, scheduler in schedulers.items():
                created_s, commands = created(BATCH)
                creation_us.append(created_s / BATCH * 1e6)
                costs_us[depth].append(push_and_pop_s(scheduler, commands) / BATCH * 1e6)
            bare_us.append(rotation_s(bare, created(BATCH)[1]) / BATCH * 1e6)
    return [
        *figures(costs_us),
        Figure(f"bare deque, {len(bare):,} commands", median(bare_us), "µs", note="for comparison"),
        Figure("creating a command", median(creation_us), "µs"),
    ]


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
    """Push each command and pop the next; the depth stays. Return the seconds it took.

    The heads have aged by one level at every depth, and a command that was popped is freed at
    every depth: what is measured differs in nothing but the depth.
    """
    commands.reverse()
    begun_s = time.perf_counter()
    while commands:
        scheduler.submit(commands.pop(), 0.0)
        scheduler.next(TAU_AGE_S)
    return time.perf_counter() - begun_s


def rotation_s(bare: deque[Command], commands: list[Command]) -> float:
    """Do to a bare deque what `push_and_pop_s` does; return the seconds it took.

    It decides nothing: it shows what memory alone costs at this depth.
    """
    commands.reverse()
    begun_s = time.perf_counter()
    while commands:
        bare.append(commands.pop())
        bare.popleft()
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
