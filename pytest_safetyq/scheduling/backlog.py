"""The commands that wait: one FIFO per base priority, and only the heads are compared.

Within one level the oldest command has waited longest, so it always has the smallest
effective priority of its level. The next command of all is therefore the best of the heads:
pushing and taking cost the same behind ten commands and behind a million.
"""

import math
from collections import OrderedDict
from collections.abc import Iterator

from pytest_safetyq.scheduling.command import NS_PER_S, Command
from pytest_safetyq.scheduling.priority import Priority, effective_priority

_LESS_URGENT = tuple(tuple(p for p in Priority if p > base) for base in Priority)


class Level:
    """The FIFO of one base priority, with the sum of the budgets that wait in it.

    The linked list of an ``OrderedDict`` gives a FIFO from whose middle a cancelled command
    can be taken at once: tombstones would pile up behind a link that is stuck.
    """

    __slots__ = ("budget_ns", "unlimited", "waiting")

    def __init__(self) -> None:
        self.waiting: OrderedDict[int, Command] = OrderedDict()
        self.budget_ns = 0
        self.unlimited = 0

    def __len__(self) -> int:
        return len(self.waiting)

    def __iter__(self) -> Iterator[Command]:
        return iter(self.waiting.values())

    def push(self, command: Command) -> None:
        """Append ``command``."""
        self.waiting[command.sequence] = command
        if command.budget_ns is None:
            self.unlimited += 1
        else:
            self.budget_ns += command.budget_ns

    def remove(self, command: Command) -> None:
        """Take ``command`` out, wherever it stands."""
        del self.waiting[command.sequence]
        if command.budget_ns is None:
            self.unlimited -= 1
        else:
            self.budget_ns -= command.budget_ns

    @property
    def head(self) -> Command | None:
        """The oldest command, or None."""
        return next(iter(self.waiting.values())) if self.waiting else None

    @property
    def budget_s(self) -> float:
        """Seconds that all commands of this level may take together."""
        return math.inf if self.unlimited else self.budget_ns / NS_PER_S


class Backlog:
    """All waiting commands, by level.

    Args:
        tau_age_s: Seconds of waiting that raise a command by one level; zero or less: never.
    """

    def __init__(self, tau_age_s: float) -> None:
        self._tau_age_s = tau_age_s
        self._sequence = 0
        self._count = 0
        self.levels = tuple(Level() for _ in Priority)

    def push(self, command: Command, now: float) -> None:
        """Append ``command`` to the FIFO of its level."""
        command.sequence = self._sequence
        command.enqueued_s = now
        self._sequence += 1
        self._count += 1
        self.levels[command.priority].push(command)

    def remove(self, command: Command) -> None:
        """Take a waiting command out, in constant time."""
        self._count -= 1
        self.levels[command.priority].remove(command)

    def best(self, now: float) -> tuple[Command, Priority] | None:
        """Return the next command and its effective priority at ``now``, or None."""
        best: Command | None = None
        best_effective = Priority.POLL
        for level in self.levels:
            if not level.waiting:
                continue
            head = next(iter(level.waiting.values()))
            effective = self.effective(head, now)
            if (
                best is None
                or effective < best_effective
                or (effective == best_effective and head.sequence < best.sequence)
            ):
                best, best_effective = head, effective
        return None if best is None else (best, best_effective)

    def effective(self, command: Command, now: float) -> Priority:
        """Return the effective priority of ``command`` at ``now``."""
        return effective_priority(command.priority, now - command.enqueued_s, self._tau_age_s)

    def ahead_s(self, priority: Priority, now: float, before_s: float) -> float:
        """Return the longest wait, in seconds, of a command submitted now.

        What waits on the same or a more urgent level goes first. A less urgent command
        goes first too if, by then, it has aged to this level; whether its level can have got
        there is judged by its oldest command, and then the whole level is counted.

        Args:
            priority: The level of the command that asks.
            now: Monotonic seconds.
            before_s: Seconds until the link is free for the first waiting command.
        """
        wait_s = before_s
        for level in self.levels[: priority + 1]:
            if level.waiting:
                wait_s += level.budget_s
        if priority is Priority.SAFETY or self._tau_age_s <= 0:
            return wait_s
        slower = [p for p in _LESS_URGENT[priority] if self.levels[p].waiting]
        while overtaking := [p for p in slower if self._reaches(p, priority, now + wait_s)]:
            for p in overtaking:
                wait_s += self.levels[p].budget_s
                slower.remove(p)
        return wait_s

    def _reaches(self, slower: Priority, priority: Priority, until: float) -> bool:
        """Whether the oldest command of ``slower`` can have aged to ``priority`` by ``until``."""
        oldest = self.levels[slower].head
        assert oldest is not None
        return oldest.enqueued_s + (slower - priority) * self._tau_age_s <= until

    def __len__(self) -> int:
        return self._count
