"""What is asked on a session's asynchronous channel (IVI-6.1, 6)."""

from __future__ import annotations

import struct
from collections.abc import Callable

from sim_instruments.wires.hislip.codes import (
    LAST_REMOTE_LOCAL_REQUEST,
    Control,
    ErrorCode,
    LockControl,
    LockResponse,
    MessageType,
)
from sim_instruments.wires.hislip.locking import SessionLock
from sim_instruments.wires.hislip.messages import (
    HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    Message,
    error,
    unrecognized,
)
from sim_instruments.wires.hislip.session import Session

_SIZE = struct.Struct(">Q")


class Requests:
    """Answers the requests of one session.

    Args:
        session: the state of the session.
        lock: its part in the instrument's lock.
        send: takes what goes to the client.
    """

    def __init__(self, session: Session, lock: SessionLock, send: Callable[[bytes], None]) -> None:
        self._session = session
        self._lock = lock
        self._send = send
        self._handlers: dict[int, Callable[[Message], None]] = {
            MessageType.ASYNC_MAXIMUM_MESSAGE_SIZE: self._agree_on_size,
            MessageType.ASYNC_LOCK: self._lock_or_release,
            MessageType.ASYNC_LOCK_INFO: self._tell_lock,
            MessageType.ASYNC_REMOTE_LOCAL_CONTROL: self._accept_remote_local,
            MessageType.ASYNC_STATUS_QUERY: self._tell_status,
            MessageType.ASYNC_DEVICE_CLEAR: self._begin_clear,
        }

    def receive(self, message: Message) -> None:
        """Answer a message from the asynchronous channel."""
        handler = self._handlers.get(message.kind)
        if handler is None:
            self._send(unrecognized(message.kind))
        else:
            handler(message)

    def _respond(
        self, kind: MessageType, control: int = 0, parameter: int = 0, payload: bytes = b""
    ) -> None:
        self._send(Message(kind, control, parameter, payload).encode())

    def _agree_on_size(self, message: Message) -> None:
        if len(message.payload) != _SIZE.size:
            text = f"a size takes {_SIZE.size} bytes, not {len(message.payload)}"
            self._send(error(ErrorCode.UNIDENTIFIED, text))
            return
        (self._session.largest_message_bytes,) = _SIZE.unpack(message.payload)
        own = _SIZE.pack(HEADER_BYTES + MAX_PAYLOAD_BYTES)
        self._respond(MessageType.ASYNC_MAXIMUM_MESSAGE_SIZE_RESPONSE, payload=own)

    def _lock_or_release(self, message: Message) -> None:
        if message.control == LockControl.REQUEST:
            self._lock.request(message.payload, message.parameter / 1000, self._tell_lock_response)
        elif message.control != LockControl.RELEASE:
            self._send(_unrecognized_control(message))
        elif not self._lock.is_held:
            self._tell_lock_response(LockResponse.ERROR)
        else:
            # What was sent under the lock is executed under the lock.
            self._session.ids.after(
                message.parameter, lambda: self._tell_lock_response(self._lock.release())
            )

    def _tell_lock_response(self, response: LockResponse) -> None:
        self._respond(MessageType.ASYNC_LOCK_RESPONSE, response)

    def _tell_lock(self, _message: Message) -> None:
        is_exclusive, holders = self._lock.info()
        self._respond(MessageType.ASYNC_LOCK_INFO_RESPONSE, is_exclusive, holders)

    def _accept_remote_local(self, message: Message) -> None:
        # There is no front panel that remote and local would concern.
        if message.control > LAST_REMOTE_LOCAL_REQUEST:
            self._send(_unrecognized_control(message))
            return
        self._session.ids.after(
            message.parameter, lambda: self._respond(MessageType.ASYNC_REMOTE_LOCAL_RESPONSE)
        )

    def _tell_status(self, message: Message) -> None:
        delivered = bool(message.control & Control.RMT_DELIVERED)
        status_byte = self._session.status_byte(rmt_delivered=delivered)
        self._respond(MessageType.ASYNC_STATUS_RESPONSE, status_byte)

    def _begin_clear(self, _message: Message) -> None:
        features = self._session.begin_clear()
        self._respond(MessageType.ASYNC_DEVICE_CLEAR_ACKNOWLEDGE, features)


def _unrecognized_control(message: Message) -> bytes:
    text = f"control code {message.control} of message type {message.kind}"
    return error(ErrorCode.UNRECOGNIZED_CONTROL_CODE, text)
