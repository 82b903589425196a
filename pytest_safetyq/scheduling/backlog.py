"""The commands that wait: one FIFO per base priority, and only the heads are compared.

Within one level the oldest command has waited longest, so it always has the smallest
effective priority of its level. The next command of all is therefore the best of the heads:
pushing and taking cost the same behind ten commands and behind a million.
"""

import math
from collections import deque
from collections.abc import Iterator

from pytest_safetyq.scheduling.command import NS_PER_S, Command
from pytest_safetyq.scheduling.condition import Condition
from pytest_safetyq.scheduling.priority import Priority, effective_priority

GONE = -1


class Level:
    """The FIFO of one base priority, and how long what waits in it may take.

    A command that is taken out of the middle leaves a gap, which goes when it comes to the
    head, and with all others as soon as there are more gaps than waiting commands. So taking
    one out costs constant time when spread over many, and behind a link that is stuck
    cancelled commands never hold more memory than those that wait.

    Attributes:
        priority: The base priority.
        head: The oldest command, or None.
        count: How many commands wait.
    """

    __slots__ = ("_budgets_ns", "_queue", "_replies", "_unlimited", "count", "head", "priority")

    def __init__(self, priority: Priority) -> None:
        self.priority = priority
        self.head: Command | None = None
        self.count = 0
        self._queue: deque[Command] = deque()
        self._budgets_ns = 0
        self._unlimited = 0
        self._replies = 0

    def __iter__(self) -> Iterator[Command]:
        return (command for command in self._queue if command.sequence != GONE)

    def push(self, command: Command) -> None:
        """Append ``command``."""
        if self.head is None:
            self.head = command
        self._queue.append(command)
        self.count += 1
        self._replies += command.expects_reply
        if command.budget_ns is None:
            self._unlimited += 1
        else:
            self._budgets_ns += command.budget_ns

    def remove(self, command: Command) -> None:
        """Take ``command`` out, wherever it stands."""
        command.sequence = GONE
        self.count -= 1
        self._replies -= command.expects_reply
        if command.budget_ns is None:
            self._unlimited -= 1
        else:
            self._budgets_ns -= command.budget_ns
        queue = self._queue
        if command is self.head:
            while queue and queue[0].sequence == GONE:
                queue.popleft()
            self.head = queue[0] if queue else None
        if len(queue) > 2 * self.count:
            self._queue = deque(self)

    def longest_s(self, condition: Condition, resync_s: float) -> float:
        """Return how many seconds all commands of this level may take together.

        Each may find a link that has to be restored: any of them where it is lost, else those
        that read a reply, as the one before may have left it dirty.
        """
        if self._unlimited:
            return math.inf
        restorations = self.count if condition is Condition.LOST else self._replies
        return self._budgets_ns / NS_PER_S + restorations * resync_s


class Backlog:
    """All waiting commands, by level.

    Args:
        tau_age_s: Seconds of waiting that raise a command by one level; zero or less: never.

    Attributes:
        levels: The FIFOs, the most urgent first.
        count: How many commands wait.
    """

    def __init__(self, tau_age_s: float) -> None:
        self._tau_age_s = tau_age_s
        self._sequence = 0
        self.count = 0
        self.levels = tuple(map(Level, Priority))
        self._first = tuple(self.levels[: base + 1] for base in Priority)
        self._catch_up = tuple(
            tuple((level, (level.priority - base) * tau_age_s) for level in self.levels[base + 1 :])
            if base is not Priority.SAFETY and tau_age_s > 0
            else ()
            for base in Priority
        )

    def push(self, command: Command, now: float) -> None:
        """Append ``command`` to the FIFO of its level."""
        command.sequence = self._sequence
        command.enqueued_s = now
        self._sequence += 1
        self.count += 1
        self.levels[command.priority].push(command)

    def remove(self, command: Command) -> None:
        """Take a waiting command out."""
        self.count -= 1
        self.levels[command.priority].remove(command)

    def best(self, now: float) -> Command | None:
        """Return the next command, with its effective priority at ``now``; None: none waits."""
        best: Command | None = None
        best_effective = Priority.POLL
        for level in self.levels:
            head = level.head
            if head is None:
                continue
            waited_s = now - head.enqueued_s
            effective = effective_priority(level.priority, waited_s, self._tau_age_s)
            if (
                best is None
                or effective < best_effective
                or (effective == best_effective and head.sequence < best.sequence)
            ):
                best, best_effective = head, effective
        if best is not None:
            best.effective = best_effective
        return best

    def ahead_s(
        self,
        priority: Priority,
        now: float,
        before_s: float,
        condition: Condition = Condition.CLEAN,
        resync_s: float = 0.0,
    ) -> float:
        """Return the longest wait, in seconds, of a command submitted now.

        What waits on the same or a more urgent level goes first. A less urgent command
        goes first too if, by then, it has aged to this level; whether its level can have got
        there is judged by its oldest command, and then the whole level is counted.

        Args:
            priority: The level of the command that asks.
            now: Monotonic seconds.
            before_s: Seconds until the link is free for the first waiting command.
            condition: The condition of the link.
            resync_s: Seconds that restoring it may take.
        """
        wait_s = before_s
        for level in self._first[priority]:
            if level.head is not None:
                wait_s += level.longest_s(condition, resync_s)
        catch_up = self._catch_up[priority]
        if not catch_up:
            return wait_s
        arrivals = [
            (level.head.enqueued_s + rise_s, level.longest_s(condition, resync_s))
            for level, rise_s in catch_up
            if level.head is not None
        ]
        arrivals.sort()  # one that ages in time can give the next the time to
        for arrives_s, longest_s in arrivals:
            if arrives_s > now + wait_s:
                break
            wait_s += longest_s
        return wait_s
