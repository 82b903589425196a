"""One instrument and the clients that share it: one message at a time, each entered as executed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sim_instruments.device import Device
from sim_instruments.witness import Witness


@dataclass(frozen=True, slots=True)
class Executed:
    """What came of one program message.

    Attributes:
        reply: the response message without terminator, `None` when there is none.
        due_s: monotonic time at which it is available.
    """

    reply: bytes | None
    due_s: float


class SharedInstrument:
    """Executes messages for any number of clients.

    It does one thing at a time: the reply to a message waits for those before it, whoever asked.

    Args:
        device: what executes the messages.
        name: under which the witness enters them.
        witness: who writes them down, if anybody.
        clock: monotonic time in seconds.
    """

    def __init__(
        self,
        device: Device,
        name: str,
        *,
        witness: Witness | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.device = device
        self.name = name
        self.clock = clock
        self._witness = witness
        self.used_s = clock()
        """When the last message came, in monotonic seconds."""
        self._busy_until_s = 0.0

    def execute(self, message: bytes, *, reply_waiting: bool, wire: str, client: str) -> Executed:
        """Execute a message without terminator, and have it witnessed."""
        self.used_s = now_s = self.clock()
        answer = self.device.execute(message, reply_waiting=reply_waiting, now_s=now_s)
        if answer.takes_s:
            self._busy_until_s = max(self._busy_until_s, now_s) + answer.takes_s
        if self._witness is not None:
            self._witness.record(
                self.name,
                message.decode("ascii", "backslashreplace").strip(),
                answer.reply,
                self.device.output(),
                wire=wire,
                client=client,
                lost=answer.lost,
            )
        reply = None if answer.reply is None else answer.reply.encode()
        return Executed(reply, max(self._busy_until_s, now_s))
