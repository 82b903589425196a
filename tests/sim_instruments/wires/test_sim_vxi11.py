"""What VXI-11's procedures do, also where PyVISA never goes."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator

import pytest
from scripted_bench import Scripted, ScriptedDevice, Served, close_connections, serving, until
from vxi11_client import Connection, Link

from sim_instruments.faults import Rule
from sim_instruments.sim_bench import SimBench
from sim_instruments.wires.rpc.records import MAX_RECORD_BYTES
from sim_instruments.wires.rpc.xdr import pack_opaque
from sim_instruments.wires.vxi11.arguments import MAX_WRITE_BYTES
from sim_instruments.wires.vxi11.codes import (
    ABORT_PROGRAM,
    CoreProcedure,
    ErrorCode,
    Flag,
    Reason,
)
from sim_instruments.wires.vxi11.listener import Vxi11Listener

SLOW_S = 0.05
OK = ErrorCode.NO_ERROR


@pytest.fixture
def device() -> ScriptedDevice:
    return ScriptedDevice(
        {"SLOW?": Scripted("late", SLOW_S), "NEVER?": Scripted(None), "LIST?": Scripted("1,2,3")}
    )


@pytest.fixture
async def served(device: ScriptedDevice) -> AsyncIterator[Served]:
    async with serving(Vxi11Listener(), device) as served:
        yield served


@pytest.fixture
async def link(served: Served) -> Link:
    return await Link.create(served.port)


@pytest.fixture
async def other(served: Served) -> Link:
    return await Link.create(served.port)


async def test_a_link_comes_with_the_abort_port_and_the_size_of_a_write(
    served: Served, link: Link
) -> None:
    assert link.error == OK
    assert link.max_bytes == MAX_WRITE_BYTES
    assert link.abort_port not in (0, served.port)
    assert await link.query("*IDN?") == "*IDN?"


async def test_a_message_is_complete_at_its_end_flag(link: Link, device: ScriptedDevice) -> None:
    assert await link.write(b"VOLT", flags=0) == (OK, 4)
    assert device.executed == []
    assert await link.write(b" 1") == (OK, 2)
    assert device.executed == ["VOLT 1"]


async def test_a_reply_longer_than_the_request_is_continued(link: Link) -> None:
    await link.write(b"LIST?")
    assert await link.read(request=4) == (OK, Reason.REQUEST_COUNT, b"1,2,")
    assert await link.read(request=2) == (OK, Reason.REQUEST_COUNT | Reason.END, b"3\n")


async def test_a_read_ends_after_its_termination_character(link: Link) -> None:
    await link.write(b"LIST?")
    comma = {"flags": Flag.TERM_CHAR_SET, "term_char": ord(",")}
    assert await link.read(**comma) == (OK, Reason.TERM_CHAR, b"1,")
    assert await link.read(request=2, **comma) == (
        OK,
        Reason.TERM_CHAR | Reason.REQUEST_COUNT,
        b"2,",
    )
    assert await link.read(**comma) == (OK, Reason.END, b"3\n")


async def test_a_reply_of_megabytes_arrives_whole(link: Link, device: ScriptedDevice) -> None:
    device.script["BIG?"] = Scripted("x" * 3_000_000)
    await link.write(b"BIG?")
    assert await link.read(request=1 << 30) == (OK, Reason.END, b"x" * 3_000_000 + b"\n")


async def test_a_new_message_discards_the_unread_reply_and_also_a_half_read_one(
    link: Link, device: ScriptedDevice
) -> None:
    await link.write(b"A?")
    assert await link.query("LIST?") == "1,2,3"
    await link.write(b"LIST?")
    await link.read(request=2)
    assert await link.query("B?") == "B?"
    assert device.interruptions == 2


async def test_a_read_with_nothing_asked_times_out_and_is_noted(
    link: Link, device: ScriptedDevice
) -> None:
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    assert await link.read(io_timeout_ms=50) == (ErrorCode.IO_TIMEOUT, 0, b"")
    assert loop.time() - begun_s >= 0.049
    assert device.reads_without_query == 1


async def test_a_reply_that_comes_after_the_timeout_can_be_read_later(
    link: Link, device: ScriptedDevice
) -> None:
    await link.write(b"SLOW?")
    assert (await link.read(io_timeout_ms=1))[0] == ErrorCode.IO_TIMEOUT
    assert await link.read() == (OK, Reason.END, b"late\n")
    assert device.reads_without_query == 0


async def test_abort_ends_a_read_with_error_23_and_the_link_goes_on(
    link: Link, device: ScriptedDevice
) -> None:
    reading = asyncio.create_task(link.read(io_timeout_ms=60_000))
    await until(lambda: device.reads_without_query == 1)
    assert await link.abort() == OK
    assert await reading == (ErrorCode.ABORT, 0, b"")
    assert await link.query("A?") == "A?"


async def test_abort_of_a_link_at_rest_changes_nothing_and_an_unknown_link_is_an_error(
    link: Link,
) -> None:
    assert await link.abort() == OK
    assert await link.query("A?") == "A?"
    stranger = Link(link.connection, 0, 999, link.abort_port, 0)
    assert await stranger.abort() == ErrorCode.INVALID_LINK


async def test_while_one_link_waits_for_a_reply_every_other_goes_on(
    link: Link, other: Link, device: ScriptedDevice
) -> None:
    reading = asyncio.create_task(link.read(io_timeout_ms=60_000))
    await until(lambda: device.reads_without_query == 1)
    assert await other.write(b"OUTP 0") == (OK, 6)
    assert await other.query("A?") == "A?"
    assert device.executed == ["OUTP 0", "A?"]
    assert not reading.done()
    await link.abort()
    await reading


async def test_calls_sent_at_once_are_answered_in_order(link: Link, served: Served) -> None:
    connection = link.connection
    write = struct.pack(">iIIi", link.number, 0, 0, Flag.END)
    xids = []
    for number in range(3):
        data = pack_opaque(f"SLOW?;{number}?".encode())
        xids.append(connection.send(CoreProcedure.DEVICE_WRITE, write + data))
        xids.append(connection.send(CoreProcedure.DEVICE_READ, link.read_arguments()))
    replies = [await connection.receive() for _ in xids]
    assert [int.from_bytes(reply[:4], "big") for reply in replies] == xids
    assert [b"?;%d?" % number in replies[2 * number + 1] for number in range(3)] == [True] * 3


async def test_status_trigger_and_clear_reach_the_instrument(
    link: Link, device: ScriptedDevice
) -> None:
    await link.generic(CoreProcedure.DEVICE_TRIGGER)
    await link.write(b"A?")
    status = await link.generic(CoreProcedure.DEVICE_READSTB)
    assert (status.read_int(), status.read_uint()) == (OK, 16)
    await link.write(b"half", flags=0)
    await link.generic(CoreProcedure.DEVICE_CLEAR)
    assert await link.query("B?") == "B?"
    assert device.executed == ["*TRG", "A?", "B?"]
    assert (device.clears, device.interruptions) == (1, 0)


async def test_a_link_is_of_no_use_when_destroyed_nor_on_another_connection(
    served: Served, link: Link, other: Link
) -> None:
    assert await link.on_link(CoreProcedure.DESTROY_LINK) == OK
    assert await link.on_link(CoreProcedure.DESTROY_LINK) == ErrorCode.INVALID_LINK
    assert await link.write(b"A") == (ErrorCode.INVALID_LINK, 0)
    borrowed = Link(link.connection, 0, other.number, other.abort_port, 0)
    assert await borrowed.write(b"A") == (ErrorCode.INVALID_LINK, 0)
    assert await other.write(b"A") == (OK, 1)


async def test_what_cannot_be_had_says_so(
    served: Served, link: Link, device: ScriptedDevice
) -> None:
    assert (await Link.create(served.port, device="gpib0")).error == (
        ErrorCode.DEVICE_NOT_ACCESSIBLE
    )
    device.client_limit = 1
    assert (await Link.create(served.port)).error == ErrorCode.OUT_OF_RESOURCES
    assert await link.write(bytes(MAX_WRITE_BYTES + 1)) == (ErrorCode.PARAMETER_ERROR, 0)
    for procedure, error in (
        (CoreProcedure.DEVICE_DOCMD, ErrorCode.OPERATION_NOT_SUPPORTED),
        (CoreProcedure.CREATE_INTR_CHAN, ErrorCode.OPERATION_NOT_SUPPORTED),
        (CoreProcedure.DESTROY_INTR_CHAN, ErrorCode.CHANNEL_NOT_ESTABLISHED),
    ):
        assert (await link.connection.call(procedure)).read_int() == error
    enable = struct.pack(">iI", link.number, 1) + pack_opaque(b"handle")
    assert (await link.connection.call(CoreProcedure.DEVICE_ENABLE_SRQ, enable)).read_int() == OK


async def test_what_a_client_sent_before_it_went_is_executed(
    served: Served, link: Link, device: ScriptedDevice
) -> None:
    write = struct.pack(">iIIi", link.number, 0, 0, Flag.END)
    link.connection.send(CoreProcedure.DEVICE_READ, link.read_arguments(io_timeout_ms=60_000))
    link.connection.send(CoreProcedure.DEVICE_WRITE, write + pack_opaque(b"OUTP 0"))
    await until(lambda: device.reads_without_query == 1)
    link.connection.writer.close()
    await until(lambda: served.place.clients == 0)
    assert device.executed == ["OUTP 0"]


@pytest.mark.parametrize(
    "stream",
    [
        struct.pack(">I", 1 << 31 | MAX_RECORD_BYTES + 1),
        struct.pack(">I", 1 << 31 | 12) + struct.pack(">3I", 1, 1, 2),
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x80\0\0\x04HELO",
    ],
    ids=["oversized", "a-reply", "another-protocol", "too-short"],
)
async def test_what_is_no_call_ends_the_connection_of_this_client_alone(
    served: Served, link: Link, other: Link, stream: bytes
) -> None:
    link.connection.writer.write(stream)
    assert await link.connection.at_end()
    assert await other.query("A?") == "A?"
    await until(lambda: served.place.clients == 1)


async def test_a_half_written_record_holds_up_nobody(served: Served, link: Link) -> None:
    half = await Connection.connect(served.port)
    half.writer.write(struct.pack(">I", 1 << 31 | 100) + bytes(20))
    await half.writer.drain()
    assert await link.query("A?") == "A?"
    half.writer.close()
    assert await link.query("B?") == "B?"


async def test_each_channel_answers_for_its_own_program_only(link: Link) -> None:
    unavailable = struct.pack(">5I", 1, 0, 0, 0, 1)
    link.connection.send(CoreProcedure.DEVICE_READSTB, program=ABORT_PROGRAM)
    assert (await link.connection.receive())[4:] == unavailable
    abort = await Connection.connect(link.abort_port)
    abort.send(CoreProcedure.DEVICE_READSTB)
    assert (await abort.receive())[4:] == unavailable


async def test_a_client_that_never_reads_is_left_unread_and_the_others_go_on(
    link: Link, other: Link, device: ScriptedDevice
) -> None:
    device.script["BIG?"] = Scripted("b" * 100_000)
    connection = link.connection
    connection.writer.transport.pause_reading()
    write = struct.pack(">iIIi", link.number, 0, 0, Flag.END) + pack_opaque(b"BIG?")
    for _ in range(500):
        connection.send(CoreProcedure.DEVICE_WRITE, write)
        connection.send(CoreProcedure.DEVICE_READ, link.read_arguments(request=1 << 20))
    for number in range(50):
        assert await other.query(f"A{number}?") == f"A{number}?"
    assert 0 < device.executed.count("BIG?") < 200
    connection.writer.transport.resume_reading()
    for _ in range(500):
        await connection.receive()
        assert len(await connection.receive()) > 100_000
    assert device.executed.count("BIG?") == 500


async def test_a_freeze_holds_the_calls_up_and_a_thaw_lets_them_go_on(
    served: Served, link: Link, device: ScriptedDevice
) -> None:
    served.place.add_fault(Rule("frozen", pattern="A"))
    write = struct.pack(">iIIi", link.number, 0, 0, Flag.END)
    for text in (b"A", b"B?"):
        link.connection.send(CoreProcedure.DEVICE_WRITE, write + pack_opaque(text))
    link.connection.send(CoreProcedure.DEVICE_READ, link.read_arguments())
    await until(lambda: served.place.frozen)
    await asyncio.sleep(0.02)
    assert device.executed == ["A"]
    served.place.lift()
    replies = [await link.connection.receive() for _ in range(3)]
    assert replies[2].endswith(b"B?\n\0")
    assert device.executed == ["A", "B?"]


async def test_nothing_is_executed_after_the_message_that_drops_the_connection(
    served: Served, link: Link, device: ScriptedDevice
) -> None:
    served.place.add_fault(Rule("drop", pattern="A"))
    write = struct.pack(">iIIi", link.number, 0, 0, Flag.END)
    for text in (b"A", b"OUTP 1"):
        link.connection.send(CoreProcedure.DEVICE_WRITE, write + pack_opaque(text))
    assert await link.connection.at_end()
    await until(lambda: served.place.clients == 0)
    assert device.executed == ["A"]


@pytest.mark.sim_bench(wires=["vxi11"])
async def test_the_server_ends_in_good_order_while_a_client_waits(sim_bench: SimBench) -> None:
    port = int(sim_bench.resource_name("smu").split(",")[1].split(":")[0])
    link, other = await Link.create(port), await Link.create(port)
    reading = asyncio.create_task(link.read(io_timeout_ms=60_000))
    while not (await other.query("SYST:ERR?")).startswith("-420"):  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    sim_bench.control.stop()
    assert await asyncio.to_thread(sim_bench.process.wait, 10) == 0
    with contextlib.suppress(EOFError):
        assert (await reading)[0] == ErrorCode.ABORT
    await close_connections()
    assert sim_bench.witness_file.with_name("server.log").read_text() == ""
