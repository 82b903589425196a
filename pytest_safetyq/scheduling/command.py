"""One command, from submission to outcome.

Whatever affects a command's state is in this file. Its life is the table ``LIFE``; an event
that the table does not list is a programming error and raises ``KeyError``.
"""

from functools import lru_cache
from typing import Any, Literal

from pytest_safetyq.scheduling.priority import Priority

NS_PER_S = 1_000_000_000

State = Literal["new", "waiting", "in flight", "attached", "ended"]
Event = Literal["enqueue", "coalesce", "refuse", "dispatch", "withdraw", "finish"]

# Strings, not enums: looking up a pair of enum members costs a microsecond on CPython 3.11.
LIFE: dict[tuple[State, Event], State] = {
    ("new", "enqueue"): "waiting",
    ("new", "coalesce"): "attached",  # shares the outcome of its twin
    ("new", "refuse"): "ended",
    ("waiting", "dispatch"): "in flight",
    ("waiting", "withdraw"): "ended",  # cancelled, flushed, or the link is gone for good
    ("in flight", "finish"): "ended",
    ("attached", "finish"): "ended",
}


@lru_cache(maxsize=64)
def whole_ns(seconds: float) -> int:
    """Return ``seconds`` in whole nanoseconds.

    The sums of the bound go up and down a million times and must come back to exactly zero,
    which floating point does not promise. Budgets are few, and so are the numbers kept.
    """
    return round(seconds * NS_PER_S)


class Command:
    """One message that waits for the link, or one job that wants to borrow it.

    Args:
        cmd_id: The submitter's name for it.
        payload: The message, bytes; empty for a job.
        priority: The priority it is submitted with.
        timeout_s: Budget of the whole transaction in seconds; ``None`` (jobs only): unlimited.
        expects_reply: Whether a reply is read after the message was written.
        submitted_s: When the submitter entered ``submit``, monotonic seconds.
        is_job: Whether it borrows the link for several transactions.
        ticket: The dispatcher's own data for it; the scheduler never looks at it.

    Attributes:
        effective: Its effective priority when the scheduler last found it to be the next.
        sequence: The number of its submission; negative while it doesn't wait.
        bound_s: The longest wait, in seconds from its submission, computed when it was submitted.
        state: Where it is in its life.
    """

    __slots__ = (
        "bound_s",
        "budget_ns",
        "cmd_id",
        "effective",
        "enqueued_s",
        "expects_reply",
        "is_job",
        "payload",
        "priority",
        "sequence",
        "state",
        "submitted_s",
        "ticket",
        "timeout_s",
    )

    def __init__(
        self,
        cmd_id: str,
        payload: bytes,
        priority: Priority,
        *,
        timeout_s: float | None,
        expects_reply: bool,
        submitted_s: float,
        is_job: bool = False,
        ticket: Any = None,
    ) -> None:
        self.cmd_id = cmd_id
        self.payload = payload
        self.priority = self.effective = priority
        self.timeout_s = timeout_s
        self.budget_ns = None if timeout_s is None else whole_ns(timeout_s)
        self.expects_reply = expects_reply
        self.submitted_s = submitted_s
        self.is_job = is_job
        self.ticket = ticket
        self.enqueued_s = submitted_s
        self.sequence = -1
        self.bound_s = 0.0
        self.state: State = "new"

    def advance(self, event: Event) -> None:
        """Move to the state that the table ``LIFE`` gives for ``event``.

        Raises:
            KeyError: The table has no such transition.
        """
        self.state = LIFE[self.state, event]

    @property
    def key(self) -> tuple[str, bytes]:
        """What makes two commands the same for coalescing."""
        return self.cmd_id, self.payload
