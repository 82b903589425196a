"""The scheduler: who may enter, who is next, how long it can take."""

from enum import Enum
from typing import NamedTuple

from pytest_safetyq.scheduling.backlog import Backlog
from pytest_safetyq.scheduling.coalescing import Coalescing
from pytest_safetyq.scheduling.command import Command
from pytest_safetyq.scheduling.condition import Condition, recovery_s
from pytest_safetyq.scheduling.latch import Latch, LatchEvent
from pytest_safetyq.scheduling.priority import Priority


class Verdict(Enum):
    """What becomes of a command that is submitted."""

    ENQUEUED = "enqueued"
    COALESCED = "coalesced"
    FULL = "full"
    LATCHED = "latched"


class Admission(NamedTuple):
    """The answer to a submission.

    Attributes:
        verdict: What became of it.
        twin: The command whose outcome it shares, where it was coalesced.
    """

    verdict: Verdict
    twin: Command | None = None


ENQUEUED = Admission(Verdict.ENQUEUED)
FULL = Admission(Verdict.FULL)
LATCHED = Admission(Verdict.LATCHED)


class Scheduler:
    """Decides; executes nothing. Every method that depends on time is told ``now``.

    Args:
        max_depth: How many commands other than SAFETY may wait.
        tau_age_s: Seconds of waiting that raise a command by one level; zero or less: never.
        coalesce_s: Seconds for which a successful SAFETY command covers its repeats.
    """

    def __init__(self, *, max_depth: int, tau_age_s: float, coalesce_s: float) -> None:
        self._max_depth = max_depth
        self._coalescing = Coalescing(coalesce_s)
        self._backlog = Backlog(tau_age_s)
        self._busy_until: float | None = None
        self._interrupt_s: float | None = None
        self._loan: tuple[Command, float] | None = None
        self.latch = Latch()

    def submit(
        self,
        command: Command,
        now: float,
        condition: Condition = Condition.CLEAN,
        resync_s: float = 0.0,
    ) -> Admission:
        """Admit ``command``, refuse it, or join it to the one that it repeats.

        Args:
            command: The command.
            now: Monotonic seconds.
            condition: The condition of the link; for the bound.
            resync_s: Seconds that restoring the link may take; for the bound.
        """
        priority = command.priority
        command.bound_s = self.worst_case_s(
            priority, now, command.expects_reply, condition, resync_s
        )
        if priority is Priority.SAFETY:
            twin = self._coalescing.twin_of(command, now)
            if twin is not None:
                return self._coalesced(command, twin)
            self._coalescing.opened(command)
        elif self.latch.latched:
            command.advance("refuse")
            return LATCHED
        elif self.depth >= self._max_depth:
            command.advance("refuse")
            return FULL
        command.advance("enqueue")
        self._backlog.push(command, now)
        return ENQUEUED

    def _coalesced(self, command: Command, twin: Command) -> Admission:
        command.advance("coalesce")
        if twin.state == "ended":
            command.advance("finish")
        else:
            self._coalescing.joined(command)
        return Admission(Verdict.COALESCED, twin)

    def peek(self, now: float) -> Command | None:
        """Return the next command without taking it, or None."""
        return self._backlog.best(now)

    def take(self, command: Command) -> None:
        """Take ``command`` out of the queue to run it. A job only borrows; it sends nothing."""
        self._backlog.remove(command)
        command.advance("dispatch")
        if not command.is_job:
            self._coalescing.sent()

    def next(self, now: float) -> Command | None:
        """Take the next command, or None."""
        command = self.peek(now)
        if command is not None:
            self.take(command)
        return command

    def occupy(self, until: float | None, *, interrupt_s: float | None = None) -> None:
        """Note that the link is busy until ``until`` at the latest; None: free.

        Args:
            until: Monotonic seconds.
            interrupt_s: Seconds within which what has the link can be broken off for a SAFETY
                command; None: it can't be.
        """
        self._busy_until = until
        self._interrupt_s = interrupt_s

    def break_off(self, now: float) -> bool:
        """Decide whether what has the link is broken off for a SAFETY command, now; once.

        It is where that frees the link sooner than the end of the budget does.
        """
        until, interrupt_s = self._busy_until, self._interrupt_s
        if until is None or interrupt_s is None or until - now <= interrupt_s:
            return False
        self.occupy(now + interrupt_s)
        return True

    def borrowed(self, job: Command, until: float) -> None:
        """Note that ``job`` has the link, until ``until`` at the latest (may be infinite)."""
        self._loan = (job, until)

    def start_for_job(self, request: Command, job: Command) -> None:
        """Note that ``job``, which borrows the link, sends ``request``, which never waited."""
        request.effective = job.effective
        request.advance("enqueue")
        request.advance("dispatch")
        self._coalescing.sent()

    def finish(self, command: Command, now: float, *, succeeded: bool) -> list[Command]:
        """Note the end of a command in flight; return those that share its outcome."""
        if self._loan is not None and self._loan[0] is command:
            self._loan = None
        command.advance("finish")
        return self._end_followers(command, now if succeeded else None)

    def withdraw(self, command: Command) -> bool:
        """Take a waiting command out because nobody wants it any more.

        SAFETY messages stay: they are sent whoever has stopped waiting for them.

        Returns:
            Whether it was taken out.
        """
        if command.priority is Priority.SAFETY and not command.is_job:
            return False
        self._take_out(command)
        return True

    def flush(self, *, below: Priority) -> list[Command]:
        """Take out all commands whose base priority is strictly less urgent than ``below``."""
        flushed = [c for p in Priority if p > below for c in self._backlog.levels[p]]
        for command in flushed:
            self._take_out(command)
        return flushed

    def trip(self, reason: str) -> list[Command]:
        """Latch, and take out everything but SAFETY; return what was taken out."""
        self.latch.apply(LatchEvent.TRIP)
        self.latch.reason = reason
        return self.flush(below=Priority.SAFETY)

    def rearm(self) -> None:
        """Release the latch: the caller vouches for the safe state."""
        self.latch.apply(LatchEvent.CONFIRM)
        self.latch.apply(LatchEvent.REARM)

    def clear(self) -> list[Command]:
        """Take out everything, SAFETY too: there is no link any more to send it on.

        Returns:
            What waited, and what would have shared its outcome.
        """
        waiting = [c for level in self._backlog.levels for c in level]
        for command in waiting:
            self._take_out(command)
        return waiting + [f for command in waiting for f in self._end_followers(command, None)]

    def worst_case_s(
        self,
        priority: Priority,
        now: float,
        expects_reply: bool = False,
        condition: Condition = Condition.CLEAN,
        resync_s: float = 0.0,
    ) -> float:
        """Return the bound on the wait, in seconds, of a command submitted now.

        It holds as long as nothing more urgent is submitted later; for SAFETY nothing is.
        It does not depend on how many less urgent commands wait, except on those that will
        have aged to the same level by then.

        Args:
            priority: The priority of the command.
            now: Monotonic seconds.
            expects_reply: Whether it reads a reply, and so needs a link that is clean.
            condition: The condition of the link.
            resync_s: Seconds that restoring the link may take.
        """
        busy_until = self._busy_until
        before_s = busy_until - now if busy_until is not None and busy_until > now else 0.0
        if self._interrupt_s is not None and priority is Priority.SAFETY:
            before_s = min(before_s, self._interrupt_s)
        if self._loan is not None:
            job, until = self._loan
            if priority >= job.priority:
                before_s = max(before_s, until - now)
        wait_s = self._backlog.ahead_s(priority, now, before_s, condition, resync_s)
        if not resync_s:
            return wait_s
        busy = busy_until is not None or self._backlog.count > 0
        return wait_s + recovery_s(condition, resync_s, expects_reply=expects_reply, busy=busy)

    @property
    def depth(self) -> int:
        """How many commands other than SAFETY wait."""
        backlog = self._backlog
        return backlog.count - backlog.levels[0].count

    def __len__(self) -> int:
        return self._backlog.count

    def waiting_by_priority(self) -> dict[Priority, int]:
        """Return how many commands wait, by base priority."""
        return {level.priority: level.count for level in self._backlog.levels}

    def dwell_s(self, now: float) -> dict[Priority, float]:
        """Return, by base priority, for how many seconds the oldest command has waited."""
        return {
            level.priority: 0.0 if level.head is None else now - level.head.enqueued_s
            for level in self._backlog.levels
        }

    def _take_out(self, command: Command) -> None:
        self._backlog.remove(command)
        command.advance("withdraw")

    def _end_followers(self, command: Command, succeeded_s: float | None) -> list[Command]:
        followers = self._coalescing.ended(command, succeeded_s)
        for follower in followers:
            follower.advance("finish")
        return followers
