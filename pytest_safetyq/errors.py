"""Every exception that pytest-safetyq raises on its own account.

One base, `SafetyError`, so that ``except SafetyError`` is the whole family; each member
is also the standard exception that a user would have caught without this package.
"""

import asyncio


class SafetyError(Exception):
    """Base of every exception of pytest-safetyq."""


class TransactionTimeout(SafetyError, TimeoutError):
    """The budget of one transaction (write, delay and read) ran out."""


class BacklogFull(SafetyError, asyncio.QueueFull):
    """The queue already holds ``max_depth`` commands; nothing was enqueued."""


class Preempted(SafetyError):
    """A job gave way to something more urgent; it never continues."""


class EStopLatched(SafetyError):
    """Refused: the instrument is tripped and not rearmed; only SAFETY is accepted."""


class LinkLost(SafetyError, ConnectionError):
    """The path to the instrument is gone, or to the process that owns it."""


class SafeStateUnconfirmed(SafetyError):
    """The off sequence was sent, but "off" could not be read back from the instrument."""


class LimitExceeded(SafetyError):
    """The bench file forbids this set-point; nothing was sent."""
