"""The scheduler against a naive model: a plain list, sorted before each pick.

The model keeps time in whole ticks and writes every rule of the contract out once more, in
the most obvious way, so that a mistake would have to be made twice.
"""

import math
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from scheduling_helpers import loan_job, message

from pytest_safetyq.scheduling import Command, Priority, Scheduler, Verdict

TICKS_PER_S = 8
SAFETY, CONTROL = 0, 1
PRIORITIES = st.sampled_from(list(Priority))
BUDGETS = st.integers(1, 40)


def seconds(ticks: float) -> float:
    return ticks / TICKS_PER_S


@dataclass
class Entry:
    """One command as the model sees it; times in ticks."""

    command: Command
    base: int
    number: int
    since: int
    budget: float
    is_job: bool
    followers: list[Command] = field(default_factory=list)

    @property
    def message(self) -> tuple[str, bytes]:
        return self.command.cmd_id, self.command.payload

    def effective(self, now: int, tau: int) -> int:
        if self.base == SAFETY or tau <= 0:
            return self.base
        return max(CONTROL, self.base - (now - self.since) // tau)


class SchedulerMachine(RuleBasedStateMachine):
    """Does the same to the scheduler and to the model."""

    @initialize(
        max_depth=st.integers(0, 6),
        tau=st.sampled_from([-3, 0, 1, 4, 16]),
        window=st.sampled_from([0, 4, 16]),
    )
    def set_up(self, max_depth: int, tau: int, window: int) -> None:
        self.now = 0
        self.max_depth, self.tau, self.window = max_depth, tau, window
        self.waiting: list[Entry] = []
        self.in_flight: Entry | None = None
        self.busy_until: float | None = None
        self.loan: Entry | None = None
        self.loan_until = 0.0
        self.covered: tuple[Entry, int] | None = None
        self.latched = False
        self.submitted = 0
        self.real = Scheduler(
            max_depth=max_depth, tau_age_s=seconds(tau), coalesce_s=seconds(window)
        )

    # What the model knows.

    def queue(self) -> list[Entry]:
        return sorted(self.waiting, key=lambda e: (e.effective(self.now, self.tau), e.number))

    def depth(self) -> int:
        return sum(entry.base != SAFETY for entry in self.waiting)

    def twin(self, cmd_id: str, payload: bytes) -> Entry | None:
        candidates = [entry for entry in self.waiting if entry.base == SAFETY]
        if self.in_flight is not None and self.in_flight.base == SAFETY:
            candidates.append(self.in_flight)
        if self.covered is not None and self.now - self.covered[1] < self.window:
            candidates.append(self.covered[0])
        same = [e for e in candidates if not e.is_job and e.message == (cmd_id, payload)]
        assert len(same) < 2
        return same[0] if same else None

    def before(self, base: int) -> float:
        ticks = max(0, (self.busy_until or 0) - self.now)
        if self.loan is not None and base >= self.loan.base:
            ticks = max(ticks, self.loan_until - self.now)
        return ticks

    def bound_without_aging(self, base: int) -> float:
        return self.before(base) + sum(e.budget for e in self.waiting if e.base <= base)

    def entry(self, command: Command, budget: float) -> Entry:
        self.submitted += 1
        return Entry(
            command, int(command.priority), self.submitted, self.now, budget, command.is_job
        )

    def expected(self, base: int) -> Verdict:
        if base != SAFETY and self.latched:
            return Verdict.LATCHED
        if base != SAFETY and self.depth() >= self.max_depth:
            return Verdict.FULL
        return Verdict.ENQUEUED

    # What happens.

    @rule(
        priority=PRIORITIES,
        cmd_id=st.sampled_from(["a", "b"]),
        payload=st.sampled_from([b"x", b"y"]),
        budget=BUDGETS,
    )
    def submit(self, priority: Priority, cmd_id: str, payload: bytes, budget: int) -> None:
        command = message(
            cmd_id, payload, priority, timeout_s=seconds(budget), now=seconds(self.now)
        )
        twin = self.twin(cmd_id, payload) if priority == SAFETY else None
        bound = self.bound_without_aging(priority)
        verdict, real_twin = self.real.submit(command, seconds(self.now))
        if priority == SAFETY or self.tau <= 0:
            assert command.bound_s == seconds(bound)
        else:
            assert command.bound_s >= seconds(bound)
        if twin is None:
            self.check_admission(self.entry(command, budget), verdict, real_twin)
            return
        assert (verdict, real_twin) == (Verdict.COALESCED, twin.command)
        if self.covered is not None and twin is self.covered[0]:
            assert command.state == "ended"
        else:
            assert command.state == "attached"
            twin.followers.append(command)

    @rule(priority=PRIORITIES, budget=st.none() | BUDGETS)
    def submit_job(self, priority: Priority, budget: int | None) -> None:
        timeout_s = None if budget is None else seconds(budget)
        job = loan_job(priority, timeout_s=timeout_s, now=seconds(self.now))
        entry = self.entry(job, math.inf if budget is None else budget)
        self.check_admission(entry, *self.real.submit(job, seconds(self.now)))

    def check_admission(self, entry: Entry, verdict: Verdict, twin: Command | None) -> None:
        assert verdict is self.expected(entry.base)
        assert twin is None
        if verdict is Verdict.ENQUEUED:
            assert entry.command.state == "waiting"
            self.waiting.append(entry)
        else:
            assert entry.command.state == "ended"

    @rule(ticks=st.integers(1, 20))
    def wait(self, ticks: int) -> None:
        self.now += ticks

    @precondition(lambda self: self.in_flight is None and self.loan is None)
    @rule()
    def take_the_next(self) -> None:
        queue = self.queue()
        taken = self.real.next(seconds(self.now))
        if not queue:
            assert taken is None
            return
        first = queue[0]
        assert taken is first.command
        assert taken.effective == first.effective(self.now, self.tau)
        assert first.command.state == "in flight"
        self.waiting.remove(first)
        if first.is_job:
            self.loan, self.loan_until = first, self.now + first.budget
            self.real.borrowed(first.command, seconds(self.loan_until))
        else:
            self.fly(first)

    def fly(self, entry: Entry) -> None:
        self.in_flight, self.covered = entry, None
        self.busy_until = self.now + entry.budget
        self.real.occupy(seconds(self.busy_until))

    @precondition(lambda self: self.loan is not None and self.in_flight is None)
    @rule(budget=BUDGETS)
    def the_job_sends(self, budget: int) -> None:
        assert self.loan is not None
        request = message("job", b"x", self.loan.command.priority, timeout_s=seconds(budget))
        self.real.start_for_job(request, self.loan.command)
        assert request.state == "in flight"
        entry = self.entry(request, budget)
        entry.is_job = True  # it covers no repeat
        self.fly(entry)

    @precondition(lambda self: self.in_flight is not None)
    @rule(succeeded=st.booleans())
    def finish(self, succeeded: bool) -> None:
        entry = self.in_flight
        assert entry is not None
        followers = self.real.finish(entry.command, seconds(self.now), succeeded=succeeded)
        self.real.occupy(None)
        assert followers == entry.followers
        assert {c.state for c in (entry.command, *followers)} == {"ended"}
        self.in_flight = self.busy_until = None
        if succeeded and entry.base == SAFETY and not entry.is_job:
            self.covered = (entry, self.now)

    @precondition(lambda self: self.loan is not None and self.in_flight is None)
    @rule()
    def the_job_ends(self) -> None:
        assert self.loan is not None
        assert self.real.finish(self.loan.command, seconds(self.now), succeeded=False) == []
        self.loan = None

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        entry = data.draw(st.sampled_from(self.waiting), label="cancelled")
        stays = entry.base == SAFETY and not entry.is_job
        assert self.real.withdraw(entry.command) is not stays
        assert entry.command.state == ("waiting" if stays else "ended")
        if not stays:
            self.waiting.remove(entry)

    @rule(below=PRIORITIES)
    def flush(self, below: Priority) -> None:
        self.check_flushed(self.real.flush(below=below), below)

    @rule()
    def trip(self) -> None:
        self.latched = True
        self.check_flushed(self.real.trip("why"), SAFETY)
        assert self.real.latch.reason == "why"

    def check_flushed(self, flushed: list[Command], below: int) -> None:
        gone = [entry for entry in self.waiting if entry.base > below]
        assert {id(c) for c in flushed} == {id(e.command) for e in gone}
        assert len(flushed) == len(gone)
        assert all(command.state == "ended" for command in flushed)
        self.waiting = [entry for entry in self.waiting if entry.base <= below]

    @rule()
    def rearm(self) -> None:
        self.latched = False
        self.real.rearm()

    # What must always hold.

    @invariant()
    def it_counts_what_waits(self) -> None:
        assert len(self.real) == len(self.waiting)
        assert self.real.depth == self.depth()
        assert self.real.depth <= self.max_depth
        assert self.real.waiting_by_priority() == {
            p: sum(e.base == p for e in self.waiting) for p in Priority
        }

    @invariant()
    def it_knows_the_longest_wait(self) -> None:
        assert self.real.dwell_s(seconds(self.now)) == {
            p: seconds(max((self.now - e.since for e in self.waiting if e.base == p), default=0))
            for p in Priority
        }

    @invariant()
    def a_look_takes_nothing(self) -> None:
        queue = self.queue()
        best = self.real.peek(seconds(self.now))
        assert best is (queue[0].command if queue else None)
        assert len(self.real) == len(queue)

    @invariant()
    def its_bound_for_safety_is_the_contracts(self) -> None:
        bound = self.real.worst_case_s(Priority.SAFETY, seconds(self.now))
        assert bound == seconds(self.bound_without_aging(SAFETY))

    @invariant()
    def it_is_latched_from_trip_to_rearm(self) -> None:
        assert self.real.latch.latched is self.latched

    def teardown(self) -> None:
        if hasattr(self, "real"):
            cleared = self.real.clear()
            gone = [c for e in self.waiting for c in (e.command, *e.followers)]
            assert {id(c) for c in cleared} == {id(c) for c in gone}
            assert len(cleared) == len(gone)
            assert len(self.real) == 0


TestSchedulerAgainstTheModel = SchedulerMachine.TestCase
TestSchedulerAgainstTheModel.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None
)
