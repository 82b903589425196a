"""Firing safety commands under a saturated backlog, and measuring each stage."""

import asyncio
import time

from pytest_safetyq.bench.config import Step
from pytest_safetyq.bench.reports import DISPATCH_SLACK_S, Distribution, LatencyStats
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.dispatcher.reply import Reply
from pytest_safetyq.errors import BacklogFull, SafeStateUnconfirmed, SafetyError
from pytest_safetyq.scheduling import Priority, TransactionRecord, is_over_bound


async def probe(
    instrument: OwnedInstrument, *, samples: int, backlog: int, command: str | None
) -> LatencyStats:
    """Send ``samples`` safety commands, each behind ``backlog`` waiting POLL commands.

    Args:
        instrument: The instrument.
        samples: How many safety commands to send.
        backlog: How many POLL commands wait when each one is submitted.
        command: The safety command; None: the profile's off sequence, of which the first
            command is the one that is measured.

    Raises:
        ValueError: A number is out of range, or the profile has no off sequence.
        SafeStateUnconfirmed: After a safety command "off" could not be read back.
    """
    profile = instrument.profile
    confirms = profile.confirms
    if not confirms:
        raise ValueError(f"{instrument.name}: model {instrument.model} has nothing to switch off")
    if samples < 1:
        raise ValueError(f"samples must be 1 or more, not {samples}")
    if backlog < 0:
        raise ValueError(f"backlog must be 0 or more, not {backlog}")
    steps = profile.off if command is None else (Step(send=command),)
    safety = steps[0].send
    dispatches: list[TransactionRecord] = []
    confirmed_s: list[float] = []
    polls: list[Reply] = []
    try:
        for number in range(samples):
            _fill(instrument, confirms[0].query, backlog, polls)
            sent = [_submit(instrument, step, f"probe {number}") for step in steps]
            submitted_s = time.monotonic()
            for step, reply in zip(steps, sent, strict=True):
                await _settled(reply, step.send)
            await asyncio.sleep(profile.settle_s)
            for confirm in confirms:
                answer = await _confirm(instrument, confirm.query, number)
                if not confirm.accepts(answer):
                    raise SafeStateUnconfirmed(
                        f"{instrument.name}: {confirm.query} answered {answer!r} after {safety}"
                    )
            confirmed_s.append(time.monotonic() - submitted_s)
            assert sent[0].record is not None
            dispatches.append(sent[0].record)
    finally:
        for poll in polls:
            poll.cancel()
    return LatencyStats(
        queue_wait=Distribution.of(r.dispatch_latency_s or 0.0 for r in dispatches),
        wire_time=Distribution.of(r.service_s or 0.0 for r in dispatches),
        confirmed_off=Distribution.of(confirmed_s),
        over_bound=sum(is_over_bound(record, DISPATCH_SLACK_S) for record in dispatches),
        backlog=backlog,
        command=safety,
    )


def _submit(instrument: OwnedInstrument, step: Step, cmd_id: str) -> Reply:
    payload = step.send.encode("latin-1")
    expect_reply = True if step.reply else None
    return instrument.submit(cmd_id, payload, Priority.SAFETY, expect_reply=expect_reply)


def _fill(instrument: OwnedInstrument, query: str, backlog: int, polls: list[Reply]) -> None:
    """Submit POLL commands, and add them to ``polls``, until ``backlog`` of them wait."""
    payload = query.encode("latin-1")
    waiting = instrument.dispatcher.pending_by_priority[Priority.POLL]
    try:
        for _ in range(backlog - waiting):
            polls.append(instrument.submit("probe poll", payload, Priority.POLL, expect_reply=True))
    except BacklogFull as error:
        raise ValueError(f"backlog must fit in the queue, {backlog} doesn't: {error}") from error


async def _confirm(instrument: OwnedInstrument, query: str, number: int) -> str:
    reply = _submit(instrument, Step(send=query, reply=True), f"probe confirm {number}")
    try:
        return (await _settled(reply, query)).decode("latin-1").strip()
    except SafetyError as error:
        raise SafeStateUnconfirmed(f"{instrument.name}: {query} got no answer: {error}") from error


async def _settled(reply: Reply, command: str) -> bytes:
    """Return the reply; a command that was cancelled by others is an error, not our end."""
    await asyncio.wait({reply})
    if reply.cancelled():
        raise SafetyError(f"{command} was cancelled")
    return reply.result()
