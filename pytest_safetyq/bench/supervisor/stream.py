"""Background polls: one command again and again, at POLL priority."""

import asyncio
import time
from collections.abc import Callable

from pytest_safetyq.bench.supervisor.explaining import explained
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.wire.failures import kind_of
from pytest_safetyq.bench.wire.messages import StreamReply
from pytest_safetyq.errors import BacklogFull, EStopLatched
from pytest_safetyq.scheduling import Priority


async def run_stream(
    instrument: OwnedInstrument,
    stream: int,
    command: str,
    every_s: float,
    send: Callable[[StreamReply], None],
) -> None:
    """Send ``command`` every ``every_s`` seconds and hand on the replies, until cancelled.

    At most one of its commands waits at a time: a stream never builds up a backlog. A full
    queue or a latched instrument makes it miss a turn; any other failure ends it.

    Args:
        instrument: The instrument.
        stream: The stream's number.
        command: The command.
        every_s: Seconds from one turn to the next; turns that are missed are left out.
        send: Hands a reply to the client.
    """
    turn_s = time.monotonic()
    while True:
        try:
            reply = await _one(instrument, command)
        except (BacklogFull, EStopLatched):
            reply = None  # this turn is missed; the latch or the backlog is everybody's to see
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told
            text = explained(instrument, command.encode("latin-1", "replace"), error)
            send(StreamReply(stream=stream, kind=kind_of(error), error=text))
            return
        if reply is not None:
            send(StreamReply(stream=stream, reply=reply))
        turn_s = max(turn_s + every_s, time.monotonic())
        await asyncio.sleep(turn_s - time.monotonic())


async def _one(instrument: OwnedInstrument, command: str) -> str | None:
    """Send the command once; return the reply, or None if somebody flushed it."""
    payload = command.encode("latin-1")
    reply = instrument.submit(f"poll {command}", payload, Priority.POLL)
    try:
        await asyncio.wait({reply})
    except asyncio.CancelledError:
        reply.cancel()
        raise
    return None if reply.cancelled() else reply.result().decode("latin-1")
