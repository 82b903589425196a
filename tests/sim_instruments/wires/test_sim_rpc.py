"""Records, calls and values of ONC-RPC, from any bytes in any chunks."""

from __future__ import annotations

import asyncio
import struct

import pytest
from chunking import cuts, events
from hypothesis import given
from hypothesis import strategies as st

from sim_instruments.wires.rpc.errors import GarbageArguments, RpcError
from sim_instruments.wires.rpc.messages import parse_call
from sim_instruments.wires.rpc.program import Program
from sim_instruments.wires.rpc.records import MAX_RECORD_BYTES, RecordReader, mark_record
from sim_instruments.wires.rpc.xdr import XdrReader, pack_opaque

LAST = 1 << 31
PROGRAM, VERSION = 0x0607AF, 1

call_headers = st.tuples(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1, 7]),
    st.sampled_from([2, 3]),
    st.sampled_from([PROGRAM, 5]),
    st.sampled_from([VERSION, 9]),
    st.sampled_from([0, 1, 99]),
    st.just(0),
    st.sampled_from([0, 0, 500]),
    st.just(0),
    st.just(0),
).map(lambda fields: struct.pack(">10I", *fields))


def fragments(record: bytes, size: int) -> bytes:
    parts = [record[start : start + size] for start in range(0, len(record), size)] or [b""]
    marks = [len(part) for part in parts]
    marks[-1] |= LAST
    return b"".join(struct.pack(">I", mark) + part for mark, part in zip(marks, parts, strict=True))


@given(records=st.lists(st.binary(max_size=90), max_size=5), size=st.integers(1, 40), cuts=cuts)
def test_records_do_not_depend_on_fragments_nor_chunks(
    records: list[bytes], size: int, cuts: list[int]
) -> None:
    stream = b"".join(fragments(record, size) for record in records)
    assert events(RecordReader().feed, stream, cuts, RpcError) == records


@given(stream=st.binary(max_size=300), cuts=cuts)
def test_any_bytes_give_the_same_records_in_any_chunks(stream: bytes, cuts: list[int]) -> None:
    whole = events(RecordReader(64).feed, stream, [], RpcError)
    assert events(RecordReader(64).feed, stream, cuts, RpcError) == whole


def test_a_record_of_the_greatest_length_passes_and_a_longer_one_is_refused_by_its_length() -> None:
    assert list(RecordReader(8).feed(mark_record(b"12345678"))) == [b"12345678"]
    with pytest.raises(RpcError, match="record of 9 bytes, at most 8"):
        list(RecordReader(8).feed(struct.pack(">I", 9)))
    with pytest.raises(RpcError, match="record of 9 bytes"):
        list(RecordReader(8).feed(struct.pack(">I", 5) + b"12345" + struct.pack(">I", 4)))
    with pytest.raises(RpcError, match=str(MAX_RECORD_BYTES)):
        list(RecordReader().feed(struct.pack(">I", MAX_RECORD_BYTES + 1)))


@given(data=st.binary(max_size=50), number=st.integers(0, 2**32 - 1))
def test_opaque_data_survive_the_round_trip_whatever_their_padding(
    data: bytes, number: int
) -> None:
    reader = XdrReader(pack_opaque(data) + struct.pack(">I", number))
    assert reader.read_opaque(50) == data
    assert reader.rest().read_uint() == number


@given(data=st.binary(max_size=40), kinds=st.lists(st.sampled_from(["int", "uint", "bool", "op"])))
def test_any_bytes_are_values_or_garbage(data: bytes, kinds: list[str]) -> None:
    reader = XdrReader(data)
    read = {
        "int": reader.read_int,
        "uint": reader.read_uint,
        "bool": reader.read_bool,
        "op": lambda: reader.read_opaque(20),
    }
    try:
        for kind in kinds:
            read[kind]()
    except GarbageArguments:
        pass


async def echo(arguments: XdrReader) -> bytes:
    return pack_opaque(arguments.read_opaque(100))


def answer(record: bytes) -> bytes:
    program = Program(PROGRAM, VERSION, {1: echo})
    return asyncio.run(program.run(parse_call(record)))


@given(record=st.builds(bytes.__add__, call_headers, st.binary(max_size=40)) | st.binary())
def test_any_record_is_answered_under_its_number_or_is_no_call(record: bytes) -> None:
    try:
        reply = answer(record)
    except RpcError:
        return
    assert reply[:4] == record[:4]
    assert reply[4:8] == struct.pack(">I", 1)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ((7, 0, 2, PROGRAM, VERSION, 0), (0, 0, 0, 0)),
        ((7, 0, 2, PROGRAM, VERSION, 99), (0, 0, 0, 3)),
        ((7, 0, 2, PROGRAM, VERSION, 1), (0, 0, 0, 4)),
        ((7, 0, 2, PROGRAM, 9, 0), (0, 0, 0, 2, 1, 1)),
        ((7, 0, 2, 5, VERSION, 0), (0, 0, 0, 1)),
        ((7, 0, 3, PROGRAM, VERSION, 0), (1, 0, 2, 2)),
    ],
    ids=["null", "no-procedure", "garbage", "no-version", "no-program", "no-rpc-version"],
)
def test_each_refusal_is_the_one_that_rfc_5531_has_for_it(
    fields: tuple[int, ...], status: tuple[int, ...]
) -> None:
    reply = answer(struct.pack(">6I", *fields) + bytes(16))
    assert struct.unpack(f">{len(reply) // 4}I", reply) == (7, 1, *status)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (struct.pack(">3I", 7, 1, 2), "message type 1, expected a call"),
        (b"abc", "malformed call: 3 bytes, at least 4 expected"),
        (struct.pack(">8I", 7, 0, 2, PROGRAM, 1, 0, 1, 401), "401 bytes, at most 400"),
    ],
    ids=["a-reply", "too-short", "endless-credentials"],
)
def test_what_is_no_call_says_why(record: bytes, reason: str) -> None:
    with pytest.raises(RpcError, match=reason):
        parse_call(record)
