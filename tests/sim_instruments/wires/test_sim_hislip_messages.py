"""HiSLIP messages from any bytes in any chunks."""

from __future__ import annotations

import struct

import pytest
from chunking import cuts, events
from hypothesis import given
from hypothesis import strategies as st

from sim_instruments.wires.hislip.codes import FatalCode
from sim_instruments.wires.hislip.messages import (
    ABSURD_PAYLOAD_BYTES,
    HEADER_BYTES,
    FatalHislipError,
    Message,
    MessageReader,
    Oversized,
    split_reply,
)

messages = st.builds(
    Message,
    st.integers(0, 255),
    st.integers(0, 255),
    st.integers(0, 2**32 - 1),
    st.binary(max_size=60),
)


def reader() -> MessageReader:
    return MessageReader(max_payload_bytes=40, absurd_payload_bytes=100)


def header(length: int, prologue: bytes = b"HS") -> bytes:
    return struct.pack(">2sBBIQ", prologue, 6, 0, 0, length)


@given(sent=st.lists(messages, max_size=6), cuts=cuts)
def test_every_message_survives_the_round_trip_in_any_chunks(
    sent: list[Message], cuts: list[int]
) -> None:
    stream = b"".join(message.encode() for message in sent)
    assert events(MessageReader().feed, stream, cuts, FatalHislipError) == sent


@given(
    stream=st.lists(
        messages.map(Message.encode) | st.binary(max_size=20) | st.integers(0, 120).map(header)
    ).map(b"".join),
    cuts=cuts,
)
def test_any_bytes_give_the_same_messages_in_any_chunks(stream: bytes, cuts: list[int]) -> None:
    whole = events(reader().feed, stream, [], FatalHislipError)
    assert events(reader().feed, stream, cuts, FatalHislipError) == whole


def test_a_payload_that_is_too_long_is_skipped_and_the_next_message_is_found() -> None:
    stream = header(41) + bytes(41) + Message(7, 0, 2, b"*IDN?").encode()
    assert list(reader().feed(stream)) == [Oversized(6, 41), Message(7, 0, 2, b"*IDN?")]


def test_an_absurd_length_and_a_wrong_prologue_are_fatal_at_the_header() -> None:
    with pytest.raises(FatalHislipError, match="payload of 101 bytes, at most 40") as absurd:
        list(reader().feed(header(101)))
    with pytest.raises(FatalHislipError, match="begins with b'HS', not b'GE'") as wrong:
        list(reader().feed(header(0, b"GE")))
    assert {absurd.value.code, wrong.value.code} == {FatalCode.POORLY_FORMED_HEADER}
    with pytest.raises(FatalHislipError):
        list(MessageReader().feed(header(ABSURD_PAYLOAD_BYTES + 1)))


@given(reply=st.binary(min_size=1, max_size=500), largest=st.none() | st.integers(0, 300))
def test_a_reply_is_sent_in_messages_that_the_client_accepts(
    reply: bytes, largest: int | None
) -> None:
    pieces = split_reply(reply, largest)
    assert b"".join(pieces) == reply
    assert all(pieces)
    if largest is not None:
        assert all(len(piece) + HEADER_BYTES <= max(largest, 80) for piece in pieces)
