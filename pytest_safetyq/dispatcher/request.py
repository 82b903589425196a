"""From what a caller hands over to a command that the scheduler takes."""

import time

from pytest_safetyq.dispatcher.payload import asks_question
from pytest_safetyq.scheduling import Command, Priority


def make_command(
    cmd_id: str,
    payload: bytes,
    priority: Priority,
    timeout_s: float,
    expect_reply: bool | None,
) -> Command:
    """Return a command for one message, submitted now.

    Raises:
        TypeError: ``payload`` is not bytes.
        ValueError: ``timeout_s`` or ``priority`` can't be one.
    """
    if not isinstance(payload, bytes):
        raise TypeError(f"payload must be bytes, not {type(payload).__name__}: {payload!r}")
    return Command(
        cmd_id,
        payload,
        Priority(priority),
        timeout_s=valid_budget(timeout_s),
        expects_reply=asks_question(payload) if expect_reply is None else expect_reply,
        submitted_s=time.monotonic(),
    )


def valid_budget(timeout_s: float) -> float:
    """Return ``timeout_s`` if it can be a budget.

    Raises:
        ValueError: It is not a positive, finite number of seconds.
    """
    if not 0 < timeout_s < float("inf"):
        raise ValueError(f"timeout must be a positive number of seconds, not {timeout_s!r}")
    return float(timeout_s)
