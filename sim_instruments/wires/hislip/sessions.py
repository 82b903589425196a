"""The sessions with one instrument, each of two channels (IVI-6.1, 2.5)."""

from __future__ import annotations

from collections.abc import Callable

from sim_instruments.port import Port
from sim_instruments.wires.hislip.codes import FatalCode
from sim_instruments.wires.hislip.locking import SessionLock
from sim_instruments.wires.hislip.messages import FatalHislipError, Message
from sim_instruments.wires.hislip.requests import Requests
from sim_instruments.wires.hislip.session import Session
from sim_instruments.wires.place import Place
from sim_instruments.wires.queued_stream import QueuedStream

_MOST_SESSIONS = 1 << 16


class ChannelPair:
    """One client's session and its two connections; it ends when either of them does.

    Args:
        place: the instrument.
        port: where its messages go.
        number: the session ID.
        sync: the synchronous channel.
    """

    def __init__(self, place: Place, port: Port, number: int, sync: QueuedStream) -> None:
        self.number = number
        self._place = place
        self._sync = sync
        self._async: QueuedStream | None = None
        self._session = Session(place, port, sync, self._send_async)
        self._lock = SessionLock(place.lock, self._session)
        self._requests = Requests(self._session, self._lock, self._send_async)
        self.is_over = False

    def attach(self, channel: QueuedStream) -> None:
        """Make a connection the asynchronous channel.

        Raises:
            FatalHislipError: there is one.
        """
        if self._async is not None:
            raise FatalHislipError(
                FatalCode.INVALID_INITIALIZATION,
                f"session {self.number} has its asynchronous channel",
            )
        self._async = channel

    def receive_sync(self, message: Message) -> None:
        """Take a message from the synchronous channel.

        Raises:
            FatalHislipError: there is no asynchronous channel yet.
        """
        if self._async is None:
            raise FatalHislipError(
                FatalCode.CHANNELS_NOT_ESTABLISHED, "the asynchronous channel is missing"
            )
        self._session.receive(message)

    def is_locked_out(self) -> bool:
        """Whether the next message on the synchronous channel must wait for somebody's lock."""
        return self._session.is_locked_out()

    def send_replies(self) -> None:
        """Send what the instrument has replied."""
        self._session.send_replies()

    def receive_async(self, message: Message) -> None:
        """Take a message from the asynchronous channel."""
        self._requests.receive(message)

    def end(self) -> None:
        """End the session; the client's lock is given back unless a fault keeps it."""
        if self.is_over:
            return
        self.is_over = True
        keep = self._lock.is_held and self._place.faults.lock_outlives_its_client()
        self._lock.close(keep=keep)
        self._session.close()
        self._sync.close()
        if self._async is not None:
            self._async.close()

    def _send_async(self, frame: bytes) -> None:
        if self._async is not None:
            self._async.push(frame)


class Sessions:
    """The sessions with one instrument by number.

    Args:
        place: the instrument.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._pairs: dict[int, ChannelPair] = {}
        self._last_number = 0

    def add(self, open_port: Callable[[], Port], sync: QueuedStream) -> ChannelPair:
        """Begin a session with its synchronous channel.

        Args:
            open_port: lets the client in.
            sync: the synchronous channel.

        Raises:
            FatalHislipError: there are as many as there are numbers, or `open_port` raised it.
        """
        if len(self._pairs) == _MOST_SESSIONS:
            raise FatalHislipError(FatalCode.TOO_MANY_CLIENTS, "no session ID is free")
        pair = ChannelPair(self._place, open_port(), self._next_number(), sync)
        self._pairs[pair.number] = pair
        return pair

    def find(self, number: int) -> ChannelPair:
        """Give the session with this number.

        Raises:
            FatalHislipError: there is none.
        """
        if number not in self._pairs:
            raise FatalHislipError(FatalCode.INVALID_INITIALIZATION, f"no session {number}")
        return self._pairs[number]

    def end(self, pair: ChannelPair) -> None:
        """End a session, if it has not ended."""
        pair.end()
        self._pairs.pop(pair.number, None)

    def _next_number(self) -> int:
        # Not one that has just become free, as a late `AsyncInitialize` may still name it.
        self._last_number = (self._last_number + 1) % _MOST_SESSIONS
        while self._last_number in self._pairs:
            self._last_number = (self._last_number + 1) % _MOST_SESSIONS
        return self._last_number
