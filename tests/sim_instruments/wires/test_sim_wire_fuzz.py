"""Any bytes on a connection of these protocols: it answers in frames or closes, and never fails."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

from chunking import cuts
from hypothesis import given
from hypothesis import strategies as st
from scripted_bench import ScriptedDevice, place_for

from sim_instruments.wires.hislip.codes import MessageType
from sim_instruments.wires.hislip.connection import Connection
from sim_instruments.wires.hislip.messages import FatalHislipError, Message, MessageReader
from sim_instruments.wires.hislip.sessions import Sessions
from sim_instruments.wires.place import Place
from sim_instruments.wires.prologix.addresses import Address
from sim_instruments.wires.prologix.listener import Host
from sim_instruments.wires.rpc.records import RecordReader, mark_record
from sim_instruments.wires.rpc.xdr import pack_opaque
from sim_instruments.wires.stream import Stream
from sim_instruments.wires.vxi11.channels import CoreChannel
from sim_instruments.wires.vxi11.codes import CORE_PROGRAM, CoreProcedure
from sim_instruments.wires.vxi11.links import Links

KNOWN_TYPES = set(MessageType)


class Tap(asyncio.Transport):
    """A transport that keeps what is sent."""

    def __init__(self, protocol: Stream) -> None:
        super().__init__()
        self.sent = b""
        self._protocol = protocol
        self._is_closing = False
        protocol.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def feed(self, stream: bytes, cuts: list[int]) -> None:
        edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
        for start, end in pairwise(edges):
            if start < end and not self._is_closing:
                self._protocol.received(stream[start:end])

    async def end(self) -> None:
        self._protocol.eof_received()
        await settle()
        self._protocol.connection_lost(None)

    def close(self) -> None:
        self._is_closing = True

    def is_closing(self) -> bool:
        return self._is_closing

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def run(scenario: Callable[[Place], Awaitable[Any]]) -> Any:
    """Run a scenario; whatever fails in a task or a callback fails here, and nothing is left."""
    failures: list[dict[str, Any]] = []

    async def guarded() -> Any:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: failures.append(context))
        place = place_for(ScriptedDevice())
        result = await scenario(place)
        await settle()
        assert place.clients == 0
        assert not place.lock.holders
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    result = asyncio.run(guarded())
    assert failures == []
    return result


async def settle() -> None:
    for _ in range(40):
        await asyncio.sleep(0)


hislip_messages = st.builds(
    Message,
    st.sampled_from(sorted(KNOWN_TYPES)) | st.integers(0, 255),
    st.integers(0, 8),
    st.sampled_from([0, 1, 0xFFFF_FF00, 0xFFFF_FF02]) | st.integers(0, 2**32 - 1),
    st.sampled_from([b"", b"A?\n", b"OUTP 0", bytes(8), b"A?\nB?"]) | st.binary(max_size=20),
).map(Message.encode)
hislip_streams = st.lists(hislip_messages | st.binary(max_size=20), max_size=12).map(b"".join)


async def hislip_answers(
    place: Place, sync_stream: bytes, async_stream: bytes, cuts: list[int]
) -> list[list[Message]]:
    sessions = Sessions(place)
    sync = Tap(Connection(place, sessions))
    sync.feed(Message(MessageType.INITIALIZE, 0, 1 << 24, b"hislip0").encode(), [])
    async_ = Tap(Connection(place, sessions))
    async_.feed(Message(MessageType.ASYNC_INITIALIZE, 0, 1).encode(), [])
    sync.feed(sync_stream, cuts)
    await settle()
    async_.feed(async_stream, cuts)
    await settle()
    for tap in (sync, async_):
        await tap.end()
    return [list(MessageReader().feed(tap.sent)) for tap in (sync, async_)]


@given(sync_stream=hislip_streams, async_stream=hislip_streams, cuts=cuts)
def test_hislip_gives_the_same_answers_to_any_bytes_in_any_chunks(
    sync_stream: bytes, async_stream: bytes, cuts: list[int]
) -> None:
    whole = run(lambda place: hislip_answers(place, sync_stream, async_stream, []))
    assert run(lambda place: hislip_answers(place, sync_stream, async_stream, cuts)) == whole
    assert {message.kind for messages in whole for message in messages} <= KNOWN_TYPES


@given(stream=hislip_streams, cuts=cuts)
def test_hislip_answers_any_beginning_with_a_frame_or_with_nothing(
    stream: bytes, cuts: list[int]
) -> None:
    async def scenario(place: Place) -> bytes:
        tap = Tap(Connection(place, Sessions(place)))
        tap.feed(stream, cuts)
        await tap.end()
        return tap.sent

    try:
        assert all(message.kind in KNOWN_TYPES for message in MessageReader().feed(run(scenario)))
    except FatalHislipError:
        raise AssertionError("the server's own bytes are no messages") from None


calls = st.builds(
    lambda procedure, arguments: (procedure, arguments),
    st.sampled_from(sorted(CoreProcedure)) | st.integers(0, 40),
    st.builds(
        lambda link, words, data: struct.pack(f">{1 + len(words)}I", link, *words) + data,
        st.sampled_from([1, 1, 1, 2, 99]),
        st.lists(st.sampled_from([0, 1, 8, 10, 128, 1000, 2**32 - 1]), max_size=5),
        st.sampled_from([b"", pack_opaque(b"A?"), pack_opaque(b"inst0"), b"\xff" * 4]),
    ),
)


@given(calls=st.lists(calls, max_size=12), garbage=st.binary(max_size=12), cuts=cuts)
def test_vxi11_answers_every_call_in_order_whatever_its_arguments(
    calls: list[tuple[int, bytes]], garbage: bytes, cuts: list[int]
) -> None:
    create = (CoreProcedure.CREATE_LINK, struct.pack(">3I", 0, 0, 0) + pack_opaque(b"inst0"))
    stream = b"".join(
        mark_record(struct.pack(">10I", xid, 0, 2, CORE_PROGRAM, 1, procedure, *[0] * 4) + rest)
        for xid, (procedure, rest) in enumerate([create, *calls])
    )

    async def scenario(place: Place) -> bytes:
        tap = Tap(CoreChannel(place, Links(), 1))
        tap.feed(stream + garbage, cuts)
        await settle()
        # From here on no call waits; those that did, and those behind them, are still answered.
        await tap.end()
        return tap.sent

    sent = run(scenario)
    replies = list(RecordReader().feed(sent))
    assert [int.from_bytes(reply[:4], "big") for reply in replies] == list(range(len(calls) + 1))


@given(
    stream=st.lists(
        st.sampled_from(
            [
                b"++read eoi\n",
                b"++read 63\n",
                b"++read\r",
                b"++auto 1\n",
                b"++addr 5\n",
                b"++addr 6\n",
                b"++spoll\n",
                b"++clr\n",
                b"++trg 5\n",
                b"++eoi 0\n",
                b"++read_tmo_ms 1\n",
                b"A?\n",
                b"\x1b",
                b"++",
            ]
        )
        | st.binary(max_size=12),
        max_size=14,
    ).map(b"".join),
    cuts=cuts,
)
def test_prologix_obeys_any_bytes(stream: bytes, cuts: list[int]) -> None:
    async def scenario(place: Place) -> None:
        tap = Tap(Host({Address(5): place}))
        tap.feed(stream, cuts)
        await asyncio.sleep(0.002)
        await tap.end()

    run(scenario)
