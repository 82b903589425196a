"""The numbers of HiSLIP (IVI-6.1, 6)."""

from __future__ import annotations

from enum import IntEnum, IntFlag

NEWEST_VERSION = 0x0200
"""Major and minor version in a byte each."""


class MessageType(IntEnum):
    """Messages that are sent or understood; those of encryption and authentication are not."""

    INITIALIZE = 0
    INITIALIZE_RESPONSE = 1
    FATAL_ERROR = 2
    ERROR = 3
    ASYNC_LOCK = 4
    ASYNC_LOCK_RESPONSE = 5
    DATA = 6
    DATA_END = 7
    DEVICE_CLEAR_COMPLETE = 8
    DEVICE_CLEAR_ACKNOWLEDGE = 9
    ASYNC_REMOTE_LOCAL_CONTROL = 10
    ASYNC_REMOTE_LOCAL_RESPONSE = 11
    TRIGGER = 12
    INTERRUPTED = 13
    ASYNC_INTERRUPTED = 14
    ASYNC_MAXIMUM_MESSAGE_SIZE = 15
    ASYNC_MAXIMUM_MESSAGE_SIZE_RESPONSE = 16
    ASYNC_INITIALIZE = 17
    ASYNC_INITIALIZE_RESPONSE = 18
    ASYNC_DEVICE_CLEAR = 19
    ASYNC_STATUS_QUERY = 21
    ASYNC_STATUS_RESPONSE = 22
    ASYNC_DEVICE_CLEAR_ACKNOWLEDGE = 23
    ASYNC_LOCK_INFO = 24
    ASYNC_LOCK_INFO_RESPONSE = 25


FIRST_VENDOR_TYPE = 128
"""Message types from here on are the vendors' own."""


class FatalCode(IntEnum):
    """After these the connection is closed."""

    UNIDENTIFIED = 0
    POORLY_FORMED_HEADER = 1
    CHANNELS_NOT_ESTABLISHED = 2
    INVALID_INITIALIZATION = 3
    TOO_MANY_CLIENTS = 4


class ErrorCode(IntEnum):
    """After these the message is ignored and the connection goes on."""

    UNIDENTIFIED = 0
    UNRECOGNIZED_MESSAGE_TYPE = 1
    UNRECOGNIZED_CONTROL_CODE = 2
    UNRECOGNIZED_VENDOR_MESSAGE = 3
    MESSAGE_TOO_LARGE = 4


class LockControl(IntEnum):
    """What `ASYNC_LOCK` asks for."""

    RELEASE = 0
    REQUEST = 1


class LockResponse(IntEnum):
    """What came of it."""

    FAILURE = 0
    EXCLUSIVE = 1
    """Granted, or an exclusive lock released."""
    SHARED = 2
    """A shared lock released."""
    ERROR = 3


class Control(IntFlag):
    """Single bits of control codes."""

    OVERLAPPED = 1
    RMT_DELIVERED = 1


LAST_REMOTE_LOCAL_REQUEST = 6
