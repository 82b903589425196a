"""What the messages on a session's synchronous channel do (IVI-6.1, 3 and 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sim_instruments.port import Port, Reply
from sim_instruments.wires.hislip.codes import Control, ErrorCode, MessageType
from sim_instruments.wires.hislip.message_ids import MessageIds
from sim_instruments.wires.hislip.messages import Message, error, split_reply, unrecognized
from sim_instruments.wires.place import Place
from sim_instruments.wires.queued_stream import QueuedStream


class Session:
    """The state of one session that both its channels see.

    Args:
        place: the instrument.
        port: where its messages go.
        sync: the synchronous channel.
        send_async: takes what goes to the client by the asynchronous channel.
    """

    def __init__(
        self, place: Place, port: Port, sync: QueuedStream, send_async: Callable[[bytes], None]
    ) -> None:
        self.ids = MessageIds()
        self.largest_message_bytes: int | None = None
        """What the client accepts, `None` while it has not said."""
        self._place = place
        self._port = port
        self._sync = sync
        self._send_async = send_async
        self._loop = asyncio.get_running_loop()
        self._is_overlapped = False
        self._is_clearing = False
        self._is_inside_message = False
        self._is_unread = False
        self._alarm: asyncio.TimerHandle | None = None
        self._give_up_lock: Callable[[], None] | None = None

    def receive(self, message: Message) -> None:
        """Take a message from the synchronous channel."""
        match message.kind:
            case MessageType.DATA | MessageType.DATA_END | MessageType.TRIGGER:
                if not self._is_clearing:
                    self._execute(message)
            case MessageType.DEVICE_CLEAR_COMPLETE:
                self._complete_clear(message)
            case kind:
                self._sync.push(unrecognized(kind))

    def is_locked_out(self) -> bool:
        """Whether the next message on the synchronous channel must wait for somebody's lock.

        Those that a device clear abandons need not.
        """
        if self._is_clearing or not self._place.lock.shuts_out(self):
            return False
        if self._give_up_lock is None:
            self._give_up_lock = self._place.lock.wait(self._resume_if_unlocked)
        return True

    def status_byte(self, *, rmt_delivered: bool) -> int:
        """Give the status byte (IVI-6.1, 6.14).

        Its bit 4 stands until the client has said that the reply was read to its end.

        Args:
            rmt_delivered: whether the client says so now.
        """
        if rmt_delivered:
            self._is_unread = False
        reply_waiting = self._is_unread or self._port.unread > 0
        return self._place.instrument.device.status_byte(reply_waiting)

    def begin_clear(self) -> int:
        """Device clear: abandon what is under way, and all that comes until it is complete.

        Returns:
            The features wanted, which is the mode as it is.
        """
        self._is_clearing = True
        self._is_inside_message = False
        self._is_unread = False
        self._port.clear()
        self._sync.drop_unsent()
        self._stop_waiting_for_lock()
        self._sync.resume()
        self.ids.restart()
        return self._features()

    def send_replies(self) -> None:
        """Send the replies that are due, and see to it that the others are when they are."""
        while (reply := self._port.take()) is not None:
            self._send(reply)
        due_s = self._port.due_s()
        if due_s is not None and self._alarm is None:
            self._alarm = self._loop.call_at(due_s, self._send_when_due)

    def close(self) -> None:
        """Let go of the instrument."""
        self._stop_waiting_for_lock()
        if self._alarm is not None:
            self._alarm.cancel()
        self._port.close()

    def _resume_if_unlocked(self) -> bool:
        if self._place.lock.shuts_out(self):
            return False
        self._give_up_lock = None
        self._sync.resume()
        return True

    def _stop_waiting_for_lock(self) -> None:
        if self._give_up_lock is not None:
            self._give_up_lock()
            self._give_up_lock = None

    def _complete_clear(self, message: Message) -> None:
        if not self._is_clearing:
            self._sync.push(error(ErrorCode.UNIDENTIFIED, "no device clear is under way"))
            return
        self._is_clearing = False
        self._is_overlapped = bool(message.control & Control.OVERLAPPED)
        self._port.keeps_unread = self._is_overlapped
        acknowledge = Message(MessageType.DEVICE_CLEAR_ACKNOWLEDGE, self._features())
        self._sync.push(acknowledge.encode())

    def _features(self) -> int:
        return int(Control.OVERLAPPED) if self._is_overlapped else 0

    def _execute(self, message: Message) -> None:
        if not self._is_inside_message:
            self._begin_message(message)
        if message.kind == MessageType.TRIGGER:
            # The same as the interface's trigger message (IEEE 488.2, 10.37).
            self._port.write(b"*TRG", end=True)
        else:
            ends = message.kind == MessageType.DATA_END
            self._is_inside_message = not ends
            self._port.write(message.payload, end=ends)
        self.ids.executed(message.parameter)
        self.send_replies()

    def _begin_message(self, message: Message) -> None:
        if message.control & Control.RMT_DELIVERED:
            self._is_unread = False
        if self._is_overlapped or not (self._is_unread or self._port.unread):
            return
        # The port notices by itself only what has not been sent yet.
        if not self._port.unread:
            self._place.instrument.device.interrupted()
        self._is_unread = False
        self._sync.drop_unsent()
        self._sync.push(Message(MessageType.INTERRUPTED, 0, message.parameter).encode())
        self._send_async(Message(MessageType.ASYNC_INTERRUPTED, 0, message.parameter).encode())

    def _send_when_due(self) -> None:
        self._alarm = None
        self.send_replies()

    def _send(self, reply: Reply) -> None:
        pieces = split_reply(reply.payload, self.largest_message_bytes)
        frames = []
        for number, piece in enumerate(pieces, start=1):
            kind = MessageType.DATA_END if number == len(pieces) else MessageType.DATA
            message_id = self.ids.next_reply() if self._is_overlapped else self.ids.last
            frames.append(Message(kind, 0, message_id, piece).encode())
        self._is_unread = True
        self._sync.push(b"".join(frames), reply.effect)
