"""Which command is next, and why: pure decisions, given ``now``.

Nothing here executes anything or asks for the time, so that every decision can be tested
without a sleep and compared with a naive model.
"""

from pytest_safetyq.scheduling.backlog import Backlog
from pytest_safetyq.scheduling.command import LIFE, Command
from pytest_safetyq.scheduling.condition import Condition, recovery_s
from pytest_safetyq.scheduling.latch import Latch, LatchEvent, LatchState
from pytest_safetyq.scheduling.priority import AGE_FLOOR, Priority, effective_priority
from pytest_safetyq.scheduling.record import Outcome, TransactionRecord, is_over_bound
from pytest_safetyq.scheduling.scheduler import Admission, Scheduler, Verdict

__all__ = [
    "AGE_FLOOR",
    "LIFE",
    "Admission",
    "Backlog",
    "Command",
    "Condition",
    "Latch",
    "LatchEvent",
    "LatchState",
    "Outcome",
    "Priority",
    "Scheduler",
    "TransactionRecord",
    "Verdict",
    "effective_priority",
    "is_over_bound",
    "recovery_s",
]
