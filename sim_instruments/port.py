"""One connection to one instrument: bytes in, whole replies out when their time has come."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from sim_instruments.framing import Framer
from sim_instruments.model.instrument import Instrument
from sim_instruments.model.scpi_errors import INPUT_BUFFER_OVERRUN
from sim_instruments.witness import Witness


class Port:
    """Where an instrument's bytes arrive and its replies wait.

    Unread replies are kept in order. IEEE 488.2 (6.3.2) would discard them when the next message
    arrives; many instruments do not, and a client that reads another command's reply shows here.

    Args:
        instrument: what executes the messages.
        resource_name: canonical name under which the witness enters them.
        query_terminator: what ends a message.
        reply_terminator: what ends a reply.
        witness: who writes them down, if anybody.
        clock: monotonic time in seconds.
    """

    def __init__(
        self,
        instrument: Instrument,
        resource_name: str,
        query_terminator: bytes,
        reply_terminator: bytes,
        *,
        witness: Witness | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._instrument = instrument
        self._resource_name = resource_name
        self._framer = Framer(query_terminator)
        self._reply_terminator = reply_terminator
        self._witness = witness
        self._clock = clock
        self._busy_until_s = 0.0
        self._replies: deque[tuple[float, bytes]] = deque()

    def write(self, chunk: bytes) -> None:
        """Take bytes, and execute each message that they complete."""
        for message in self._framer.feed(chunk):
            if message is None:
                self._instrument.status.record(INPUT_BUFFER_OVERRUN)
            elif message.strip():
                self._execute(message)

    def take(self) -> bytes | None:
        """Take the oldest reply with its terminator, `None` while there is none that is due."""
        if not self._replies:
            return None
        due_s, reply = self._replies[0]
        if due_s and self._clock() < due_s:
            return None
        self._replies.popleft()
        return reply

    def _execute(self, message: bytes) -> None:
        answer = self._instrument.execute(message, reply_waiting=bool(self._replies))
        if answer.takes_s:
            self._busy_until_s = max(self._busy_until_s, self._clock()) + answer.takes_s
        if answer.reply is not None:
            reply = answer.reply.encode() + self._reply_terminator
            self._replies.append((self._busy_until_s, reply))
        if self._witness is not None:
            text = message.decode("ascii", "backslashreplace").strip()
            output = self._instrument.output()
            self._witness.record(self._resource_name, text, answer.reply, output)
