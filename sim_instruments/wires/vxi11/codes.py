"""The numbers of VXI-11 (rev. 1.0, B.4 to B.6)."""

from __future__ import annotations

from enum import IntEnum, IntFlag

CORE_PROGRAM = 0x0607AF
ABORT_PROGRAM = 0x0607B0
VERSION = 1
"""Version of both programs."""


class CoreProcedure(IntEnum):
    """Procedures of the core channel."""

    CREATE_LINK = 10
    DEVICE_WRITE = 11
    DEVICE_READ = 12
    DEVICE_READSTB = 13
    DEVICE_TRIGGER = 14
    DEVICE_CLEAR = 15
    DEVICE_REMOTE = 16
    DEVICE_LOCAL = 17
    DEVICE_LOCK = 18
    DEVICE_UNLOCK = 19
    DEVICE_ENABLE_SRQ = 20
    DEVICE_DOCMD = 22
    DESTROY_LINK = 23
    CREATE_INTR_CHAN = 25
    DESTROY_INTR_CHAN = 26


DEVICE_ABORT = 1
"""The one procedure of the abort channel."""


class ErrorCode(IntEnum):
    """What a procedure answers first."""

    NO_ERROR = 0
    DEVICE_NOT_ACCESSIBLE = 3
    INVALID_LINK = 4
    PARAMETER_ERROR = 5
    CHANNEL_NOT_ESTABLISHED = 6
    OPERATION_NOT_SUPPORTED = 8
    OUT_OF_RESOURCES = 9
    DEVICE_LOCKED = 11
    NO_LOCK_HELD = 12
    IO_TIMEOUT = 15
    ABORT = 23


class Flag(IntFlag):
    """Flags of a call."""

    WAIT_LOCK = 1
    END = 8
    TERM_CHAR_SET = 128


class Reason(IntFlag):
    """Why a read ended."""

    REQUEST_COUNT = 1
    TERM_CHAR = 2
    END = 4


class DeviceError(Exception):
    """A procedure failed.

    Args:
        code: what it answers.
    """

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code
