"""Frames: four bytes of length, big-endian, and as many bytes of msgpack."""

import msgspec

from pytest_safetyq.bench.wire.messages import Message, ToClient, ToSupervisor

HEADER_BYTES = 4
MAX_FRAME_BYTES = 64 * 1024 * 1024
MAX_HELLO_BYTES = 4096
"""A stranger can't make the supervisor hold more than this before it is known."""

_encoder = msgspec.msgpack.Encoder()
_for_supervisor = msgspec.msgpack.Decoder(ToSupervisor)
_for_client = msgspec.msgpack.Decoder(ToClient)


class FrameError(Exception):
    """The peer doesn't speak this language; the connection can't go on."""


def encode(message: Message) -> bytes:
    """Return ``message`` as a frame."""
    body = _encoder.encode(message)
    return len(body).to_bytes(HEADER_BYTES) + body


def body_length(header: bytes, limit: int = MAX_FRAME_BYTES) -> int:
    """Return the length that a header announces.

    Raises:
        FrameError: It is more than ``limit``.
    """
    length = int.from_bytes(header)
    if length > limit:
        raise FrameError(f"a frame of {length} bytes is announced; at most {limit} are taken")
    return length


def decode_for_supervisor(body: bytes) -> ToSupervisor:
    """Return the message of a client.

    Raises:
        FrameError: It is none.
    """
    try:
        return _for_supervisor.decode(body)
    except msgspec.MsgspecError as error:
        raise FrameError(str(error)) from error


def decode_for_client(body: bytes) -> ToClient:
    """Return the message of a supervisor.

    Raises:
        FrameError: It is none.
    """
    try:
        return _for_client.decode(body)
    except msgspec.MsgspecError as error:
        raise FrameError(str(error)) from error
