"""A HiSLIP connection, which its first message makes one of the two channels of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sim_instruments.port import Port
from sim_instruments.wires.hislip.codes import (
    NEWEST_VERSION,
    ErrorCode,
    FatalCode,
    MessageType,
)
from sim_instruments.wires.hislip.messages import (
    FatalHislipError,
    Message,
    MessageReader,
    Oversized,
    error,
    fatal_error,
)
from sim_instruments.wires.hislip.sessions import ChannelPair, Sessions
from sim_instruments.wires.place import Place, Refused
from sim_instruments.wires.queued_stream import QueuedStream

WIRE = "hislip"
SUB_ADDRESS = "hislip0"
_VENDOR_ID = int.from_bytes(b"SI", "big")


class Connection(QueuedStream):
    """One of the two connections of a client.

    Args:
        place: the instrument.
        sessions: the sessions with it.
    """

    def __init__(self, place: Place, sessions: Sessions) -> None:
        super().__init__([place])
        self._place = place
        self._sessions = sessions
        self._reader = MessageReader()
        self._receive: Callable[[Message], None] = self._initialize
        self._pair: ChannelPair | None = None
        self._is_sync = False
        self._is_over = False

    def execute(self, chunk: bytes) -> Iterator[None]:
        """Take one message after the other; after a fatal error there are no more."""
        try:
            for message in self._reader.feed(chunk):
                if self._has_ended():
                    return
                if isinstance(message, Oversized):
                    text = f"message with {message.payload_bytes} bytes of payload"
                    self.push(error(ErrorCode.MESSAGE_TOO_LARGE, text))
                else:
                    self._receive(message)
                yield
        except FatalHislipError as problem:
            self.push(fatal_error(problem))
            self._end()

    def is_blocked(self) -> bool:
        """Whether somebody's lock holds this channel up."""
        return self._is_sync and self._pair is not None and self._pair.is_locked_out()

    def reconsider(self) -> None:
        """Send the replies to what a freeze has held up."""
        super().reconsider()
        if self._is_sync and self._pair is not None:
            self._pair.send_replies()

    def finished(self) -> None:
        """End the session."""
        self._end()

    def lost(self) -> None:
        """End the session."""
        self._end()

    def _initialize(self, message: Message) -> None:
        if message.kind == MessageType.INITIALIZE:
            self._begin_session(message)
        elif message.kind == MessageType.ASYNC_INITIALIZE:
            self._join_session(message)
        else:
            raise FatalHislipError(
                FatalCode.INVALID_INITIALIZATION,
                f"message type {message.kind} before the connection is initialized",
            )

    def _begin_session(self, message: Message) -> None:
        sub_address = message.payload.decode("ascii", "backslashreplace")
        if sub_address.lower() not in ("", SUB_ADDRESS):
            raise FatalHislipError(
                FatalCode.INVALID_INITIALIZATION,
                f"no sub-address {sub_address[:40]!r}, only {SUB_ADDRESS!r}",
            )
        self._pair = self._sessions.add(self._open_port, self)
        self._receive = self._pair.receive_sync
        self._is_sync = True
        version = min(message.parameter >> 16, NEWEST_VERSION)
        parameter = version << 16 | self._pair.number
        self.push(Message(MessageType.INITIALIZE_RESPONSE, 0, parameter).encode())

    def _join_session(self, message: Message) -> None:
        pair = self._sessions.find(message.parameter)
        pair.attach(self)
        self._pair = pair
        self._receive = pair.receive_async
        self.push(Message(MessageType.ASYNC_INITIALIZE_RESPONSE, 0, _VENDOR_ID).encode())

    def _open_port(self) -> Port:
        try:
            return self._place.open_port(
                WIRE, self.client, self, interface="TCPIP INSTR", keeps_unread=False
            )
        except Refused as refusal:
            raise FatalHislipError(FatalCode.TOO_MANY_CLIENTS, str(refusal)) from None

    def _has_ended(self) -> bool:
        return self._is_over or (self._pair is not None and self._pair.is_over)

    def _end(self) -> None:
        self._is_over = True
        if self._pair is not None:
            self._sessions.end(self._pair)
        self.close()
