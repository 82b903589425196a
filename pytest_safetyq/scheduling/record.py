"""What is kept of one command: when it passed each station, and how it ended."""

import math
from dataclasses import dataclass
from typing import Literal

from pytest_safetyq.scheduling.priority import Priority

Outcome = Literal["ok", "timeout", "error", "cancelled", "preempted", "coalesced", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRecord:
    """The life of one command, in monotonic seconds; ``None`` where it never got there.

    Attributes:
        instrument: Name of the instrument, as the bench file has it.
        cmd_id: The submitter's name for the command.
        payload: The message as it was submitted, bytes.
        priority: The priority it was submitted with.
        effective_priority: The priority it had when it was dispatched, after aging.
        submitted_s: When ``submit`` was entered.
        dispatched_s: When its first byte was handed to the link.
        written_s: When its last byte was written.
        finished_s: When its outcome was known.
        bound_s: The longest wait, in seconds from ``submitted_s``, computed at submission.
        outcome: How it ended. ``refused``: it was never accepted, or a trip flushed it.
    """

    instrument: str
    cmd_id: str
    payload: bytes
    priority: Priority
    effective_priority: Priority
    submitted_s: float
    dispatched_s: float | None
    written_s: float | None
    finished_s: float | None
    bound_s: float
    outcome: Outcome

    @property
    def dispatch_latency_s(self) -> float | None:
        """Seconds from ``submit`` to the first byte; ``None`` if it was never dispatched."""
        return None if self.dispatched_s is None else self.dispatched_s - self.submitted_s

    @property
    def service_s(self) -> float | None:
        """Seconds from the first byte to the outcome; ``None`` if it was never dispatched."""
        if self.dispatched_s is None or self.finished_s is None:
            return None
        return self.finished_s - self.dispatched_s


def is_over_bound(record: TransactionRecord, slack_s: float) -> bool:
    """Whether ``record`` was dispatched later than its bound allows.

    What is not known to have kept its bound has broken it: a latency or a bound that is not a
    number never passes for early, nor does one that was never dispatched.

    Args:
        record: The record.
        slack_s: Seconds above the bound that are forgiven.
    """
    latency_s = math.inf if record.dispatch_latency_s is None else record.dispatch_latency_s
    return not latency_s <= record.bound_s + slack_s
