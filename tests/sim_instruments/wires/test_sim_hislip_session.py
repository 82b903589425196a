"""What a HiSLIP session does, message by message, also where PyVISA never goes."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator

import pytest
from hislip_client import Channel, Client
from scripted_bench import Scripted, ScriptedDevice, Served, serving, until

from sim_instruments.faults import Rule
from sim_instruments.wires.hislip.codes import ErrorCode, FatalCode, MessageType
from sim_instruments.wires.hislip.listener import HislipListener
from sim_instruments.wires.hislip.messages import MAX_PAYLOAD_BYTES

SLOW_S = 0.05
FIRST, SECOND, THIRD = 0xFFFF_FF00, 0xFFFF_FF02, 0xFFFF_FF04


@pytest.fixture
def device() -> ScriptedDevice:
    return ScriptedDevice({"SLOW?": Scripted("late", SLOW_S), "BIG?": Scripted("b" * 5000)})


@pytest.fixture
async def served(device: ScriptedDevice) -> AsyncIterator[Served]:
    async with serving(HislipListener(), device) as served:
        yield served


@pytest.fixture
async def client(served: Served) -> Client:
    return await Client.connect(served.port)


async def test_the_lower_of_both_versions_is_spoken(served: Served) -> None:
    for asked, spoken in ((0x0100, 0x0100), (0x0200, 0x0200), (0x0305, 0x0200)):
        channel = await Channel.connect(served.port)
        opened = await channel.ask(MessageType.INITIALIZE, 0, asked << 16, b"")
        assert opened.parameter >> 16 == spoken
        assert opened.control == 0


async def test_a_reply_carries_the_id_of_the_message_that_asked(client: Client) -> None:
    client.write("VOLT", kind=MessageType.DATA)
    sent = client.write(" 1;VOLT?")
    reply = await client.read()
    assert (reply.kind, reply.parameter) == (MessageType.DATA_END, sent)
    assert reply.payload == b"VOLT 1;VOLT?\n"


async def test_a_reply_is_cut_to_the_size_that_the_client_accepts(client: Client) -> None:
    agreed = await client.async_.ask(
        MessageType.ASYNC_MAXIMUM_MESSAGE_SIZE, payload=struct.pack(">Q", 2016)
    )
    assert struct.unpack(">Q", agreed.payload) == (MAX_PAYLOAD_BYTES + 16,)
    client.write("BIG?")
    parts = [await client.read() for _ in range(3)]
    assert [part.kind for part in parts] == [6, 6, 7]
    assert [len(part.payload) for part in parts] == [2000, 2000, 1001]
    assert {part.parameter for part in parts} == {FIRST}


async def test_in_synchronized_mode_a_message_interrupts_the_unread_reply(
    client: Client, device: ScriptedDevice
) -> None:
    client.write("A?")
    assert (await client.read()).payload == b"A?\n"
    sent = client.write("B?", rmt=False)
    interrupted = await client.read()
    assert (interrupted.kind, interrupted.parameter) == (MessageType.INTERRUPTED, sent)
    assert await client.async_.receive() == (MessageType.ASYNC_INTERRUPTED, 0, sent, b"")
    assert (await client.read()).payload == b"B?\n"
    assert device.interruptions == 1


async def test_in_synchronized_mode_a_message_interrupts_a_reply_that_is_not_due_yet(
    client: Client, device: ScriptedDevice
) -> None:
    client.write("SLOW?")
    sent = client.write("OUTP 0")
    assert (await client.read())[:3] == (MessageType.INTERRUPTED, 0, sent)
    assert (await client.async_.receive()).kind == MessageType.ASYNC_INTERRUPTED
    await asyncio.sleep(2 * SLOW_S)
    assert await client.query("B?", rmt=False) == "B?"
    assert device.executed == ["SLOW?", "OUTP 0", "B?"]
    assert device.interruptions == 1


async def test_a_reply_that_was_read_is_not_interrupted(
    client: Client, device: ScriptedDevice
) -> None:
    for number in range(3):
        assert await client.query(f"A{number}?", rmt=number > 0) == f"A{number}?"
    assert device.interruptions == 0


async def test_in_overlapped_mode_every_reply_comes_under_the_servers_own_ids(
    client: Client, device: ScriptedDevice
) -> None:
    assert await client.clear(overlapped=True) == 1
    for text in ("SLOW?", "OUTP 0", "B?"):
        client.write(text)
    replies = [await client.read(), await client.read()]
    assert [(reply.parameter, reply.payload) for reply in replies] == [
        (FIRST, b"late\n"),
        (SECOND, b"B?\n"),
    ]
    assert device.executed == ["SLOW?", "OUTP 0", "B?"]
    assert device.interruptions == 0
    assert await client.clear(overlapped=False) == 0
    client.write("A?")
    client.write("B?")
    assert (await client.read()).payload == b"A?\n"
    assert (await client.read()).kind == MessageType.INTERRUPTED


async def test_device_clear_abandons_the_reply_under_way(
    client: Client, device: ScriptedDevice
) -> None:
    client.write("SLOW?")
    await until(lambda: device.executed == ["SLOW?"])
    await client.clear()
    assert device.clears == 1
    assert await client.query("A?", rmt=False) == "A?"
    await asyncio.sleep(2 * SLOW_S)
    assert await client.query("B?") == "B?"
    assert device.interruptions == 0


async def test_device_clear_abandons_the_message_begun(
    client: Client, device: ScriptedDevice
) -> None:
    client.write("OUTP ", kind=MessageType.DATA)
    await client.clear()
    assert await client.query("A?", rmt=False) == "A?"
    assert device.executed == ["A?"]


async def test_what_comes_between_the_two_halves_of_a_device_clear_is_not_executed(
    client: Client, device: ScriptedDevice
) -> None:
    await client.async_.ask(MessageType.ASYNC_DEVICE_CLEAR)
    client.write("OUTP 1")
    client.sync.send(MessageType.TRIGGER, 0, THIRD)
    client.sync.send(MessageType.DEVICE_CLEAR_COMPLETE)
    assert (await client.read()).kind == MessageType.DEVICE_CLEAR_ACKNOWLEDGE
    assert device.executed == []


async def test_bit_4_of_the_status_byte_stands_until_the_reply_was_read_to_its_end(
    client: Client, device: ScriptedDevice
) -> None:
    device.service_enable = 16
    assert await client.status() == 0
    client.write("A?")
    await client.read()
    assert await client.status() == 16 | 64
    assert await client.status(rmt=True) == 0
    client.write("B?", rmt=False)
    assert (await client.read()).payload == b"B?\n"
    assert device.interruptions == 0


async def test_a_trigger_is_executed_as_the_message_trg(
    client: Client, device: ScriptedDevice
) -> None:
    client.sync.send(MessageType.TRIGGER, 0, FIRST)
    client.message_id = SECOND
    assert await client.query("A?") == "A?"
    assert device.executed == ["*TRG", "A?"]


async def test_remote_and_local_are_acknowledged_after_the_message_they_follow(
    client: Client, device: ScriptedDevice
) -> None:
    client.async_.send(MessageType.ASYNC_REMOTE_LOCAL_CONTROL, 3, SECOND)
    assert await client.status() == 0
    client.write("A")
    client.write("B")
    response = await client.async_.receive()
    assert response.kind == MessageType.ASYNC_REMOTE_LOCAL_RESPONSE
    assert device.executed == ["A", "B"]


@pytest.mark.parametrize(
    ("kind", "control", "code"),
    [
        (MessageType.ASYNC_LOCK, 2, ErrorCode.UNRECOGNIZED_CONTROL_CODE),
        (MessageType.ASYNC_REMOTE_LOCAL_CONTROL, 7, ErrorCode.UNRECOGNIZED_CONTROL_CODE),
        (MessageType.ASYNC_MAXIMUM_MESSAGE_SIZE, 0, ErrorCode.UNIDENTIFIED),
        (MessageType.DATA, 0, ErrorCode.UNRECOGNIZED_MESSAGE_TYPE),
        (28, 0, ErrorCode.UNRECOGNIZED_MESSAGE_TYPE),
        (200, 0, ErrorCode.UNRECOGNIZED_VENDOR_MESSAGE),
    ],
)
async def test_what_is_not_understood_is_an_error_and_the_session_goes_on(
    client: Client, kind: int, control: int, code: ErrorCode
) -> None:
    response = await client.async_.ask(kind, control, FIRST, b"?")
    assert (response.kind, response.control) == (MessageType.ERROR, code)
    assert response.payload
    if kind != MessageType.DATA:
        answer = await client.sync.ask(kind)
        assert answer.kind in (MessageType.ERROR, MessageType.DATA_END)
    assert await client.query("A?") == "A?"


async def test_a_message_that_is_too_large_is_an_error_and_the_session_goes_on(
    client: Client, device: ScriptedDevice
) -> None:
    response = await client.sync.ask(6, payload=bytes(MAX_PAYLOAD_BYTES + 1))
    assert (response.kind, response.control) == (MessageType.ERROR, ErrorCode.MESSAGE_TOO_LARGE)
    assert await client.query("A?") == "A?"
    assert device.executed == ["A?"]


@pytest.mark.parametrize(
    "header",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">2sBBIQ", b"HS", 6, 0, 0, 1 << 62),
        struct.pack(">2sBBIQ", b"HS", 7, 0, 0, 64 * 1024 * 1024 + 1),
    ],
    ids=["no-prologue", "absurd-length", "just-too-long"],
)
async def test_a_poorly_formed_header_ends_the_session_of_this_client_alone(
    served: Served, client: Client, header: bytes
) -> None:
    other = await Client.connect(served.port)
    client.sync.writer.write(header)
    fatal = await client.read()
    assert (fatal.kind, fatal.control) == (MessageType.FATAL_ERROR, FatalCode.POORLY_FORMED_HEADER)
    assert await client.sync.at_end()
    assert await client.async_.at_end()
    assert await other.query("A?") == "A?"
    await until(lambda: served.place.clients == 1)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ((MessageType.DATA_END, 0, FIRST, b"OUTP 1"), FatalCode.INVALID_INITIALIZATION),
        ((MessageType.ASYNC_INITIALIZE, 0, 77, b""), FatalCode.INVALID_INITIALIZATION),
        ((MessageType.INITIALIZE, 0, 1 << 24, b"inst0"), FatalCode.INVALID_INITIALIZATION),
    ],
    ids=["data-first", "no-such-session", "no-such-sub-address"],
)
async def test_a_wrong_beginning_is_fatal(
    served: Served,
    device: ScriptedDevice,
    message: tuple[int, int, int, bytes],
    code: FatalCode,
) -> None:
    channel = await Channel.connect(served.port)
    fatal = await channel.ask(*message)
    assert (fatal.kind, fatal.control) == (MessageType.FATAL_ERROR, code)
    assert await channel.at_end()
    assert device.executed == []
    assert served.place.clients == 0


async def test_data_before_the_asynchronous_channel_are_fatal(
    served: Served, device: ScriptedDevice
) -> None:
    channel = await Channel.connect(served.port)
    await channel.ask(MessageType.INITIALIZE, 0, 1 << 24, b"hislip0")
    fatal = await channel.ask(MessageType.DATA_END, 0, FIRST, b"OUTP 1")
    assert fatal.control == FatalCode.CHANNELS_NOT_ESTABLISHED
    assert await channel.at_end()
    assert device.executed == []


async def test_a_second_asynchronous_channel_is_refused_and_the_first_goes_on(
    served: Served, client: Client
) -> None:
    intruder = await Channel.connect(served.port)
    fatal = await intruder.ask(MessageType.ASYNC_INITIALIZE, 0, client.number)
    assert fatal.control == FatalCode.INVALID_INITIALIZATION
    assert await client.query("A?") == "A?"


async def test_one_client_too_many_is_told_so(served: Served, device: ScriptedDevice) -> None:
    device.client_limit = 1
    first = await Client.connect(served.port)
    channel = await Channel.connect(served.port)
    fatal = await channel.ask(MessageType.INITIALIZE, 0, 1 << 24, b"hislip0")
    assert fatal.control == FatalCode.TOO_MANY_CLIENTS
    assert b"takes 1 client" in fatal.payload
    first.vanish()
    await until(lambda: served.place.clients == 0)
    assert await Client.connect(served.port)


async def test_a_delayed_reply_holds_up_neither_the_other_channel_nor_another_client(
    served: Served, device: ScriptedDevice, client: Client
) -> None:
    other = await Client.connect(served.port)
    served.place.add_fault(Rule("delay", pattern="A", seconds=30))
    client.write("A?")
    await until(lambda: device.executed == ["A?"])
    assert await client.status() == 16
    assert await other.query("B?") == "B?"
    assert device.executed == ["A?", "B?"]


async def test_a_client_that_never_reads_is_left_unread_and_the_others_go_on(
    served: Served, device: ScriptedDevice
) -> None:
    device.script["BIG?"] = Scripted("b" * 100_000)
    deaf, other = await Client.connect(served.port), await Client.connect(served.port)
    await deaf.clear(overlapped=True)
    deaf.sync.writer.transport.pause_reading()
    for _ in range(2000):
        deaf.write("BIG?")
    for number in range(50):
        assert await other.query(f"A{number}?", rmt=number > 0) == f"A{number}?"
    executed = device.executed.count("BIG?")
    assert 0 < executed < 200
    deaf.sync.writer.transport.resume_reading()
    for _ in range(2000):
        assert len((await deaf.read()).payload) == 100_001
    assert device.executed.count("BIG?") == 2000


async def test_a_freeze_holds_the_messages_up_and_a_thaw_lets_them_go_on(
    served: Served, client: Client, device: ScriptedDevice
) -> None:
    served.place.add_fault(Rule("frozen", pattern="A"))
    client.write("A\nB")
    client.write("C?")
    await until(lambda: served.place.frozen)
    await asyncio.sleep(0.02)
    assert device.executed == ["A"]
    served.place.lift()
    assert (await client.read()).payload == b"C?\n"
    assert device.executed == ["A", "B", "C?"]


async def test_nothing_is_executed_after_the_message_that_drops_the_connection(
    served: Served, client: Client, device: ScriptedDevice
) -> None:
    served.place.add_fault(Rule("drop", pattern="A"))
    client.write("A?")
    client.write("OUTP 1")
    assert await client.sync.at_end()
    assert await client.async_.at_end()
    assert device.executed == ["A?"]


async def test_a_trickled_reply_is_a_whole_one_in_the_end(served: Served, client: Client) -> None:
    served.place.add_fault(Rule("trickle", seconds=0.0001))
    assert await client.query("A?", rmt=False) == "A?"
