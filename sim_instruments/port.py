"""One client's conversation with an instrument: bytes in, whole replies out when they are due."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from sim_instruments.faults import UNHARMED, Effect, FaultPlan
from sim_instruments.framing import Framer
from sim_instruments.shared import SharedInstrument


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that is to be sent.

    Attributes:
        payload: its bytes, terminator included.
        effect: which faults strike it; goes to `Stream.send` with the frame.
        due_s: monotonic time at which it is available.
    """

    payload: bytes
    effect: Effect = UNHARMED
    due_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Terminators:
    """What ends a program message (`query`) and a response message (`reply`)."""

    query: bytes = b"\n"
    reply: bytes = b"\n"


class Port:
    r"""Where one client's bytes arrive and its replies wait.

    There are two manners of treating a reply that was not read when the next message comes. Kept
    in order, as on a raw socket and a serial line, where a client that reads another command's
    reply shows; or discarded with error -410, as IEEE 488.2 (6.3.2.3) has it on GPIB, VXI-11 and
    HiSLIP in synchronized mode.

    Args:
        instrument: what executes the messages.
        terminators: what ends a message and a reply.
        keeps_unread: the manner, which may change while it is open.
        wire: the name of the wire, for the witness.
        client: who it is, for the witness.
        faults: what goes wrong with which message, `None` for nothing.
        befall: called with an effect that has happenings, once its message was executed.
        is_held: says whether messages wait instead of being executed, as while it is frozen.
        closed: called once when the port is closed.
    """

    def __init__(
        self,
        instrument: SharedInstrument,
        terminators: Terminators,
        *,
        keeps_unread: bool = True,
        wire: str = "",
        client: str = "",
        faults: FaultPlan | None = None,
        befall: Callable[[Effect], object] | None = None,
        is_held: Callable[[], bool] = lambda: False,
        closed: Callable[[Port], object] | None = None,
    ) -> None:
        self._instrument = instrument
        self._terminators = terminators
        self.keeps_unread = keeps_unread
        self._wire = wire
        self._client = client
        self._faults = faults
        self._befall = befall
        self._is_held = is_held
        self._closed = closed
        self._framer = Framer(terminators.query)
        self._messages: deque[bytes | None] = deque()
        self._replies: deque[Reply] = deque()

    @property
    def unread(self) -> int:
        """How many replies wait, due or not."""
        return len(self._replies)

    def write(self, chunk: bytes, *, end: bool = False) -> None:
        """Take bytes, and execute each message that they complete.

        Args:
            chunk: any number of bytes, from any part of any number of messages.
            end: the message is complete without a terminator, as END, EOI or RMT says.
        """
        self._messages += self._framer.feed(chunk)
        if end:
            self._messages += self._framer.finish()
        self.run()

    def run(self) -> None:
        """Execute the messages that wait, unless they are held; call it when they no longer are."""
        while self._messages and not self._is_held():
            message = self._messages.popleft()
            if message is None:
                self._instrument.device.overrun()
            elif message.strip():
                self._execute(message)

    def due_s(self) -> float | None:
        """When the oldest reply is due, in monotonic seconds; `None` when none waits."""
        return self._replies[0].due_s if self._replies else None

    def take(self) -> Reply | None:
        """Take the oldest reply, `None` while there is none that is due."""
        if not self._replies:
            return None
        due_s = self._replies[0].due_s
        if due_s and self._instrument.clock() < due_s:
            return None
        return self._replies.popleft()

    def put_back(self, reply: Reply) -> None:
        """Let the rest of a reply that was read in part wait for the next read."""
        self._replies.appendleft(reply)

    def clear(self) -> None:
        """Device clear: forget the message begun and the replies that wait (IEEE 488.2, 5.8)."""
        self._framer.discard()
        self._messages.clear()
        self._replies.clear()
        self._instrument.device.device_clear()

    def read_without_query(self) -> None:
        """Note that the client reads although nothing it sent asks for a reply (-420)."""
        self._instrument.device.unterminated()

    def status_byte(self) -> int:
        """The status byte as a serial poll reads it; bit 4 says whether a reply waits here."""
        return self._instrument.device.status_byte(bool(self._replies))

    def close(self) -> None:
        """Let go of the instrument; closing again changes nothing."""
        self._messages.clear()
        self._replies.clear()
        closed, self._closed = self._closed, None
        if closed is not None:
            closed(self)

    def _execute(self, message: bytes) -> None:
        if self._replies and not self.keeps_unread:
            self._replies.clear()
            self._instrument.device.interrupted()
        effect = UNHARMED if self._faults is None else self._faults.decide(message)
        executed = self._instrument.execute(
            message, reply_waiting=bool(self._replies), wire=self._wire, client=self._client
        )
        if effect.ends_connection:
            self._messages.clear()  # they were on their way, and nobody takes them any more
        elif executed.reply is not None and not effect.no_reply:
            payload = executed.reply + self._terminators.reply
            self._replies.append(Reply(payload, effect, executed.due_s))
        if effect.happenings and self._befall is not None:
            self._befall(effect)
