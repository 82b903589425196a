"""Commands for the tests of the scheduler."""

from pytest_safetyq.scheduling import Command, Priority


def message(
    cmd_id: str = "c",
    payload: bytes = b"X",
    priority: Priority = Priority.POLL,
    *,
    timeout_s: float = 1.0,
    now: float = 0.0,
    expects_reply: bool = False,
) -> Command:
    return Command(
        cmd_id,
        payload,
        priority,
        timeout_s=timeout_s,
        expects_reply=expects_reply,
        submitted_s=now,
    )


def loan_job(priority: Priority, *, timeout_s: float | None = None, now: float = 0.0) -> Command:
    return Command(
        "job",
        b"",
        priority,
        timeout_s=timeout_s,
        expects_reply=False,
        submitted_s=now,
        is_job=True,
    )
