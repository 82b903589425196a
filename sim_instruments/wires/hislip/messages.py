"""HiSLIP messages to bytes and back (IVI-6.1, 2.3)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from sim_instruments.wires.hislip.codes import FIRST_VENDOR_TYPE, ErrorCode, FatalCode, MessageType

MAX_PAYLOAD_BYTES = 1024 * 1024
"""Longest payload that is accepted; a longer one is skipped."""

ABSURD_PAYLOAD_BYTES = 64 * 1024 * 1024
"""A payload longer than this is not even skipped: the header must be wrong."""

_LEAST_PAYLOAD_BYTES = 64

_HEADER = struct.Struct(">2sBBIQ")
_PROLOGUE = b"HS"
HEADER_BYTES = _HEADER.size


class FatalHislipError(Exception):
    """The connection cannot go on.

    Args:
        code: what the client is told.
        text: the same in words.
    """

    def __init__(self, code: FatalCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class Message(NamedTuple):
    """One message.

    Attributes:
        kind: a `MessageType`, or any other number that a client sent.
        control: the control code.
        parameter: the message parameter.
        payload: what follows the header.
    """

    kind: int
    control: int = 0
    parameter: int = 0
    payload: bytes = b""

    def encode(self) -> bytes:
        """Give the bytes that go on the wire."""
        header = _HEADER.pack(_PROLOGUE, self.kind, self.control, self.parameter, len(self.payload))
        return header + self.payload


class Oversized(NamedTuple):
    """A message whose payload was too long to be accepted, and is skipped."""

    kind: int
    payload_bytes: int


class MessageReader:
    """Finds the messages of one connection.

    Args:
        max_payload_bytes: longest payload accepted.
        absurd_payload_bytes: longest payload skipped.
    """

    def __init__(
        self,
        max_payload_bytes: int = MAX_PAYLOAD_BYTES,
        absurd_payload_bytes: int = ABSURD_PAYLOAD_BYTES,
    ) -> None:
        self._max_payload_bytes = max_payload_bytes
        self._absurd_payload_bytes = absurd_payload_bytes
        self._buffer = bytearray()
        self._skipping_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[Message | Oversized]:
        """Take a chunk and give each message that it completes.

        Raises:
            FatalHislipError: what follows is no message.
        """
        self._buffer += chunk
        while True:
            self._skip()
            if len(self._buffer) < HEADER_BYTES:
                return
            prologue, kind, control, parameter, length = _HEADER.unpack_from(self._buffer)
            if prologue != _PROLOGUE:
                raise FatalHislipError(
                    FatalCode.POORLY_FORMED_HEADER,
                    f"a header begins with {_PROLOGUE!r}, not {prologue!r}",
                )
            if length > self._absurd_payload_bytes:
                raise FatalHislipError(
                    FatalCode.POORLY_FORMED_HEADER,
                    f"payload of {length} bytes, at most {self._max_payload_bytes}",
                )
            if length > self._max_payload_bytes:
                del self._buffer[:HEADER_BYTES]
                self._skipping_bytes = length
                yield Oversized(kind, length)
                continue
            end = HEADER_BYTES + length
            if len(self._buffer) < end:
                return
            payload = bytes(memoryview(self._buffer)[HEADER_BYTES:end])
            del self._buffer[:end]
            yield Message(kind, control, parameter, payload)

    def _skip(self) -> None:
        skipped = min(self._skipping_bytes, len(self._buffer))
        del self._buffer[:skipped]
        self._skipping_bytes -= skipped


def error(code: ErrorCode, text: str) -> bytes:
    """Encode an error after which the connection goes on."""
    return Message(MessageType.ERROR, code, 0, text.encode()).encode()


def unrecognized(kind: int) -> bytes:
    """Encode the answer to a message that nothing here understands."""
    if kind >= FIRST_VENDOR_TYPE:
        return error(ErrorCode.UNRECOGNIZED_VENDOR_MESSAGE, f"vendor's message type {kind}")
    return error(ErrorCode.UNRECOGNIZED_MESSAGE_TYPE, f"message type {kind}")


def fatal_error(problem: FatalHislipError) -> bytes:
    """Encode an error after which the connection is closed."""
    return Message(MessageType.FATAL_ERROR, problem.code, 0, str(problem).encode()).encode()


def split_reply(reply: bytes, largest_message_bytes: int | None) -> list[bytes]:
    """Give the payloads in which a reply is sent.

    Args:
        reply: the reply, not empty.
        largest_message_bytes: longest message, header included, that the client accepts; `None`
            when it did not say. An absurdly small one is not obeyed.
    """
    if largest_message_bytes is None:
        return [reply]
    size = max(largest_message_bytes - HEADER_BYTES, _LEAST_PAYLOAD_BYTES)
    return [reply[start : start + size] for start in range(0, len(reply), size)]
