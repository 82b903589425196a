"""The bound is sound: nobody waits longer than was computed when the command was submitted."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from scheduling_helpers import message

from pytest_safetyq.scheduling import Command, Priority, Scheduler

TICKS_PER_S = 8


@dataclass(frozen=True)
class Arrival:
    """One command to come; times in ticks."""

    after: int
    priority: Priority
    budget: int
    shorter_by: int

    @property
    def service(self) -> int:
        return max(0, self.budget - self.shorter_by)


ARRIVALS = st.lists(
    st.builds(
        Arrival,
        after=st.sampled_from([0, 0, 0, 1, 5, 20]),
        priority=st.sampled_from(list(Priority)),
        budget=st.integers(1, 30),
        shorter_by=st.sampled_from([0, 0, 0, 1, 9]),
    ),
    min_size=1,
    max_size=14,
)
TAUS = st.sampled_from([-1, 0, 1, 5, 16, 40])


@dataclass(eq=False)
class Wait:
    """How one command fared, in ticks."""

    priority: Priority
    submitted: int
    bound: float
    dispatched: int = -1

    @property
    def kept(self) -> bool:
        return self.dispatched - self.submitted <= self.bound


def simulate(arrivals: list[Arrival], tau: int) -> list[Wait]:
    """Serve ``arrivals``, each for at most its budget; return what each was told and got."""
    scheduler = Scheduler(max_depth=1000, tau_age_s=tau / TICKS_PER_S, coalesce_s=0.0)
    coming: list[tuple[int, Arrival]] = []
    at = 0
    for arrival in arrivals:
        at += arrival.after
        coming.append((at, arrival))
    waits: dict[int, Wait] = {}
    service: dict[int, Arrival] = {}
    kept_alive: list[Command] = []
    now, free_at = 0, 0
    running: Command | None = None
    while coming or len(scheduler) or running is not None:
        while coming and coming[0][0] <= now:
            arrival = coming.pop(0)[1]
            # Another name each: what is coalesced is not sent, and has no wait.
            command = message(
                f"c{len(kept_alive)}",
                b"X",
                arrival.priority,
                timeout_s=arrival.budget / TICKS_PER_S,
                now=now / TICKS_PER_S,
            )
            kept_alive.append(command)
            scheduler.submit(command, now / TICKS_PER_S)
            waits[id(command)] = Wait(arrival.priority, now, command.bound_s * TICKS_PER_S)
            service[id(command)] = arrival
        if running is not None and free_at <= now:
            scheduler.finish(running, now / TICKS_PER_S, succeeded=True)
            scheduler.occupy(None)
            running = None
        if running is None and (best := scheduler.next(now / TICKS_PER_S)) is not None:
            running = best
            waits[id(running)].dispatched = now
            scheduler.occupy((now + service[id(running)].budget) / TICKS_PER_S)
            free_at = now + service[id(running)].service
        events = [max(free_at, now)] if running is not None else []
        now = min(events + [at for at, _ in coming[:1]], default=now)
    return list(waits.values())


def undisturbed(wait: Wait, waits: list[Wait]) -> bool:
    """Whether nothing more urgent was submitted while it waited."""
    later = waits[waits.index(wait) + 1 :]
    return not any(
        other.priority < wait.priority and other.submitted <= wait.dispatched for other in later
    )


@settings(max_examples=600, deadline=None)
@given(ARRIVALS, TAUS)
def test_no_wait_exceeds_its_bound_while_nothing_more_urgent_comes(
    arrivals: list[Arrival], tau: int
) -> None:
    waits = simulate(arrivals, tau)
    assert len(waits) == len(arrivals)
    assert not [w for w in waits if undisturbed(w, waits) and not w.kept]


@settings(max_examples=300, deadline=None)
@given(ARRIVALS, TAUS)
def test_no_safety_wait_exceeds_its_bound_whatever_comes_later(
    arrivals: list[Arrival], tau: int
) -> None:
    safety = [w for w in simulate(arrivals, tau) if w.priority is Priority.SAFETY]
    assert all(wait.kept for wait in safety)


@settings(max_examples=200, deadline=None)
@given(ARRIVALS, TAUS, st.integers(0, 200), st.none() | st.integers(1, 50))
def test_the_bound_of_safety_does_not_depend_on_the_backlog_of_the_others(
    arrivals: list[Arrival], tau: int, waited: int, busy: int | None
) -> None:
    with_others, alone = (
        Scheduler(max_depth=1000, tau_age_s=tau / TICKS_PER_S, coalesce_s=0.0) for _ in range(2)
    )
    for number, arrival in enumerate(arrivals):
        for scheduler in (with_others, alone):
            if scheduler is with_others or arrival.priority is Priority.SAFETY:
                one = message(
                    str(number), b"X", arrival.priority, timeout_s=arrival.budget / TICKS_PER_S
                )
                scheduler.submit(one, 0.0)
    now = waited / TICKS_PER_S
    for scheduler in (with_others, alone):
        scheduler.occupy(None if busy is None else busy / TICKS_PER_S)
    bound_s = with_others.worst_case_s(Priority.SAFETY, now)
    assert bound_s == alone.worst_case_s(Priority.SAFETY, now)
    ahead = sum(a.budget for a in arrivals if a.priority is Priority.SAFETY)
    assert bound_s * TICKS_PER_S == max(0, (busy or 0) - waited) + ahead


def test_the_bound_is_tight_when_everybody_uses_the_whole_budget() -> None:
    arrivals = [Arrival(0, p, 10, 0) for p in (Priority.POLL, Priority.SAFETY, Priority.SAFETY)]
    waits = simulate(arrivals, 0)
    assert [(w.bound, w.dispatched) for w in waits[1:]] == [(0.0, 0), (10.0, 10)]
