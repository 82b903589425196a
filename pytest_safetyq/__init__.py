"""Run pytest against lab instruments, and prove that the output drops in time.

The names are loaded when they are first used: a project that merely has the plugin
installed must not pay for asyncio and the rest at every run.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_safetyq.bench import AsyncInstrument, EStopReport, Instrument
    from pytest_safetyq.dispatcher import SafetyAwareDispatcher
    from pytest_safetyq.errors import (
        BacklogFull,
        EStopLatched,
        LimitExceeded,
        LinkLost,
        Preempted,
        SafeStateUnconfirmed,
        SafetyError,
        TransactionTimeout,
    )
    from pytest_safetyq.scheduling import AGE_FLOOR, Priority, TransactionRecord

__all__ = [
    "AGE_FLOOR",
    "AsyncInstrument",
    "BacklogFull",
    "EStopLatched",
    "EStopReport",
    "Instrument",
    "LimitExceeded",
    "LinkLost",
    "Preempted",
    "Priority",
    "SafeStateUnconfirmed",
    "SafetyAwareDispatcher",
    "SafetyError",
    "TransactionRecord",
    "TransactionTimeout",
]

_HOME = {
    "AGE_FLOOR": "scheduling",
    "AsyncInstrument": "bench",
    "EStopReport": "bench",
    "Instrument": "bench",
    "Priority": "scheduling",
    "SafetyAwareDispatcher": "dispatcher",
    "TransactionRecord": "scheduling",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(
        importlib.import_module(f"{__name__}.{_HOME.get(name, 'errors')}"), name
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
