"""Exceptions on the wire: a name and a text, never a pickle."""

from pytest_safetyq import errors

_KNOWN: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        errors.BacklogFull,
        errors.EStopLatched,
        errors.LimitExceeded,
        errors.LinkLost,
        errors.Preempted,
        errors.SafeStateUnconfirmed,
        errors.SafetyError,
        errors.TransactionTimeout,
        TypeError,
        ValueError,
    )
}


def kind_of(error: BaseException) -> str:
    """Return the name under which ``error`` travels: the nearest class that is known."""
    return next((c.__name__ for c in type(error).__mro__ if c.__name__ in _KNOWN), "SafetyError")


def text_of(error: BaseException) -> str:
    """Return the text of ``error``; of an unknown kind, with its name."""
    text = str(error)
    return text if type(error).__name__ in _KNOWN and text else f"{type(error).__name__}: {text}"


def exception_for(kind: str, message: str) -> Exception:
    """Return the exception that travelled as ``kind``."""
    return _KNOWN.get(kind, errors.SafetyError)(message)
