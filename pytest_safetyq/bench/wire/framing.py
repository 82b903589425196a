"""Frames: four bytes of length, big-endian, and as many bytes of msgpack.

Nothing here reads or writes: both sides feed what has arrived to a parser, and take the
messages that are complete.
"""

from typing import Generic, TypeVar

import msgspec

from pytest_safetyq.bench.wire.messages import Message, ToClient, ToSupervisor

HEADER_BYTES = 4
MAX_FRAME_BYTES = 64 * 1024 * 1024
MAX_HELLO_BYTES = 4096
"""A stranger can't make the supervisor hold more than this before it is known."""

RECEIVE_BYTES = 64 * 1024
"""What either side asks the socket for at once."""

T = TypeVar("T")

_encoder = msgspec.msgpack.Encoder()
_for_supervisor = msgspec.msgpack.Decoder(ToSupervisor)
_for_client = msgspec.msgpack.Decoder(ToClient)


class FrameError(Exception):
    """The peer doesn't speak this language; the connection can't go on."""


def encode(message: Message) -> bytes:
    """Return ``message`` as a frame.

    Raises:
        ValueError: It is longer than ``MAX_FRAME_BYTES``, or has text that is no Unicode: it
            is not sent, and the connection goes on.
    """
    body = _encoder.encode(message)
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError(
            f"{type(message).__name__} has {len(body)} bytes; at most {MAX_FRAME_BYTES} can go"
            " between the test process and the supervisor at once"
        )
    return len(body).to_bytes(HEADER_BYTES) + body


def encode_for_supervisor(message: Message) -> bytes:
    """Return the message of a client as a frame.

    Raises:
        TypeError: A field is of another type: the supervisor would refuse it as a whole, and
            end the connection.
        ValueError: As `encode`.
    """
    frame = encode(message)
    try:
        _for_supervisor.decode(memoryview(frame)[HEADER_BYTES:])
    except msgspec.ValidationError as error:
        raise TypeError(f"{type(message).__name__} can't be sent: {error}") from None
    return frame


class FrameParser(Generic[T]):
    """Cuts what arrives into messages.

    Args:
        decoder: Decodes the body of a frame.
        limit: How many bytes a frame may announce.

    Attributes:
        limit: The same; it may be changed between two messages.
    """

    def __init__(self, decoder: "msgspec.msgpack.Decoder[T]", limit: int = MAX_FRAME_BYTES) -> None:
        self._decoder = decoder
        self._received = bytearray()
        self.limit = limit

    def feed(self, chunk: bytes) -> None:
        """Take what has arrived."""
        self._received += chunk

    def next_message(self) -> T | None:
        """Return the next message; None: it isn't complete yet.

        Raises:
            FrameError: What has arrived is no message, or announces more than ``limit``.
        """
        if len(self._received) < HEADER_BYTES:
            return None
        length = int.from_bytes(self._received[:HEADER_BYTES])
        if length > self.limit:
            raise FrameError(
                f"a frame of {length} bytes is announced; at most {self.limit} are taken"
            )
        end = HEADER_BYTES + length
        if len(self._received) < end:
            return None
        body = bytes(memoryview(self._received)[HEADER_BYTES:end])
        del self._received[:end]
        try:
            return self._decoder.decode(body)
        except msgspec.MsgspecError as error:
            raise FrameError(str(error)) from error


def parser_for_supervisor(limit: int = MAX_FRAME_BYTES) -> FrameParser[ToSupervisor]:
    """Return a parser for what clients say."""
    return FrameParser(_for_supervisor, limit)


def parser_for_client() -> FrameParser[ToClient]:
    """Return a parser for what the supervisor says."""
    return FrameParser(_for_client)
