"""From what a caller hands over to a command that the scheduler takes."""

import math

from pytest_safetyq.dispatcher.payload import asks_question
from pytest_safetyq.scheduling import Command, Priority

LONGEST_BUDGET_S = 1e6
"""Eleven days: more is a slip, and would overflow the clocks of some platforms."""


def make_command(
    cmd_id: str,
    payload: bytes,
    priority: Priority,
    timeout_s: float,
    expect_reply: bool | None,
    *,
    submitted_s: float,
) -> Command:
    """Return a command for one message, submitted at ``submitted_s`` (monotonic seconds).

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
        submitted_s=submitted_s,
    )


def valid_budget(timeout_s: float) -> float:
    """Return ``timeout_s`` if it can be a budget.

    Raises:
        ValueError: It is not a positive number of seconds, or more than ``LONGEST_BUDGET_S``.
    """
    if not 0 < timeout_s <= LONGEST_BUDGET_S:
        raise ValueError(
            f"timeout must be a positive number of seconds, at most {LONGEST_BUDGET_S:g},"
            f" not {timeout_s!r}"
        )
    return float(timeout_s)


def check_settings(
    *,
    max_depth: int,
    tau_age: float,
    inter_command_delay: float,
    coalesce_s: float,
    history: int,
) -> None:
    """Check the settings of a dispatcher.

    Raises:
        ValueError: One is out of its range; the message says what would be right.
    """
    if math.isnan(tau_age):
        raise ValueError("tau_age must be a number of seconds; 0 switches aging off")
    for name, count in (("max_depth", max_depth), ("history", history)):
        if count < 0:
            raise ValueError(f"{name} must be 0 or more, not {count!r}")
    for name, seconds in (("inter_command_delay", inter_command_delay), ("coalesce_s", coalesce_s)):
        if not 0 <= seconds < math.inf:
            raise ValueError(f"{name} must be a number of seconds, 0 or more, not {seconds!r}")
