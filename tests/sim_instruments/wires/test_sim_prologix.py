"""What a Prologix controller does with a host's lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from scripted_bench import Scripted, ScriptedDevice, Served, connect, place_for, serving, until

from sim_instruments.faults import Rule
from sim_instruments.wires.prologix.addresses import Address, parse_addresses, parse_resource
from sim_instruments.wires.prologix.controller import VERSION
from sim_instruments.wires.prologix.listener import PrologixListener

UNRECOGNIZED = b"Unrecognized command"
TIMEOUT_MS = 300


@pytest.fixture
def devices() -> list[ScriptedDevice]:
    return [ScriptedDevice({"LIST?": Scripted("1,2,3")}), ScriptedDevice()]


@pytest.fixture
async def served(devices: list[ScriptedDevice]) -> AsyncIterator[Served]:
    async with serving(PrologixListener(), *devices) as served:
        yield served


class Host:
    """A host's connection, addressed to the first instrument."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int) -> Host:
        host = cls(*await connect(port))
        host.send("++addr 5", "++eos 2", f"++read_tmo_ms {TIMEOUT_MS}")
        return host

    def send(self, *lines: str) -> None:
        self.writer.write("".join(line + "\n" for line in lines).encode("latin-1"))

    async def line(self) -> bytes:
        async with asyncio.timeout(10):
            return (await self.reader.readuntil(b"\n")).rstrip(b"\r\n")

    async def ask(self, *lines: str) -> bytes:
        self.send(*lines)
        return await self.line()

    async def everything(self) -> bytes:
        """All that comes until now; what is sent is answered in order."""
        self.send("++ver")
        async with asyncio.timeout(10):
            got = await self.reader.readuntil(VERSION.encode() + b"\r\n")
        return got.removesuffix(VERSION.encode() + b"\r\n")


@pytest.fixture
async def host(served: Served) -> Host:
    return await Host.connect(served.port)


async def test_several_addresses_are_several_instruments(
    host: Host, devices: list[ScriptedDevice]
) -> None:
    host.send("A?", "++addr 6", "B?")
    assert await host.ask("++read eoi") == b"B?"
    assert await host.ask("++addr 5", "++read eoi") == b"A?"
    assert await host.ask("++addr") == b"5"
    assert [device.executed for device in devices] == [["A?"], ["B?"]]


@pytest.mark.parametrize(
    ("setting", "initial", "allowed", "refused"),
    [
        ("auto", b"0", "1", "3"),
        ("eoi", b"1", "0", "2"),
        ("eos", b"2", "3", "4"),
        ("eot_enable", b"0", "1", "-1"),
        ("eot_char", b"0", "42", "256"),
        ("read_tmo_ms", b"300", "3000", "3001"),
        ("savecfg", b"1", "0", "x"),
        ("mode", b"1", "1", "0"),
    ],
)
async def test_a_setting_is_told_set_and_refused(
    host: Host, setting: str, initial: bytes, allowed: str, refused: str
) -> None:
    assert await host.ask(f"++{setting}") == initial
    assert await host.ask(f"++{setting} {allowed}", f"++{setting}") == allowed.encode()
    assert await host.ask(f"++{setting} {refused}") == UNRECOGNIZED
    assert await host.ask(f"++{setting}") == allowed.encode()


@pytest.mark.parametrize(
    "command",
    [
        "",
        "nonsense",
        "addr 31",
        "addr 5 95",
        "addr 5 6",
        "read 256",
        "read x y",
        "spoll 5 6",
        "trg x",
        "addr \xb2",
    ],
)
async def test_what_is_no_command_is_said_to_be_none(host: Host, command: str) -> None:
    assert await host.ask(f"++{command}") == UNRECOGNIZED


async def test_a_read_goes_to_eoi_or_to_a_character_or_to_the_silence(host: Host) -> None:
    assert await host.ask("LIST?", "++read eoi") == b"1,2,3"
    host.send("LIST?", "++read 44")
    assert await host.everything() == b"1,"
    host.send("++read 44", "++read eoi")
    assert await host.everything() == b"2,3\n"
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    host.send("LIST?", "++read")
    assert await host.everything() == b"1,2,3\n"
    assert loop.time() - begun_s >= TIMEOUT_MS / 1000


async def test_a_read_that_gets_nothing_ends_after_its_timeout_and_is_noted(
    host: Host, devices: list[ScriptedDevice]
) -> None:
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    host.send("++read_tmo_ms 50", "++read eoi")
    assert await host.everything() == b""
    assert loop.time() - begun_s >= 0.049
    assert devices[0].reads_without_query == 1


async def test_a_reply_in_time_is_waited_for_and_a_late_one_is_discarded_by_the_next_message(
    host: Host, devices: list[ScriptedDevice]
) -> None:
    devices[0].script["SLOW?"] = Scripted("slow", 0.03)
    assert await host.ask("SLOW?", "++read eoi") == b"slow"
    devices[0].script["SLOW?"] = Scripted("late", 0.1)
    host.send("++read_tmo_ms 10", "SLOW?", "++read eoi")
    assert await host.everything() == b""
    assert await host.ask("A?", "++read_tmo_ms 1000", "++read eoi") == b"A?"
    assert devices[0].interruptions == 1


async def test_auto_reads_after_every_line_and_auto_2_after_questions(
    host: Host, devices: list[ScriptedDevice]
) -> None:
    assert await host.ask("++auto 1", "A?") == b"A?"
    host.send("++read_tmo_ms 1", "OUTP 0")
    assert await host.everything() == b""
    assert devices[0].reads_without_query == 1
    host.send("++auto 2", "OUTP 0", "B?")
    assert await host.everything() == b"B?\n"
    assert devices[0].reads_without_query == 1


async def test_eot_marks_where_eoi_was(host: Host) -> None:
    host.send("++eot_char 42", "++eot_enable 1", "LIST?", "++read 44", "++read eoi", "LIST?")
    host.send("++read 10")
    assert await host.everything() == b"1,2,3\n*1,2,3\n*"


async def test_without_eoi_and_terminator_a_message_is_not_complete(
    host: Host, devices: list[ScriptedDevice]
) -> None:
    host.send("++eoi 0", "++eos 3", "OUTP", "++eos 2", " 0")
    await host.everything()
    assert devices[0].executed == ["OUTP 0"]


async def test_escaped_characters_reach_the_instrument(
    host: Host, devices: list[ScriptedDevice]
) -> None:
    host.send("\x1b+\x1b+A \x1b\x1b\x1b\r1")
    await host.everything()
    assert devices[0].executed == ["++A \x1b\r1"]


async def test_clear_poll_and_trigger(host: Host, devices: list[ScriptedDevice]) -> None:
    devices[0].service_enable = 16
    assert await host.ask("++spoll") == b"0"
    assert await host.ask("++srq") == b"0"
    assert await host.ask("A?", "++spoll 5") == b"80"
    assert await host.ask("++srq") == b"1"
    assert await host.ask("++clr", "++spoll") == b"0"
    assert await host.ask("++spoll 9") == b"0"
    host.send("++trg", "++trg 5 6")
    await host.everything()
    assert [device.executed for device in devices] == [["A?", "*TRG", "*TRG"], ["*TRG"]]
    assert devices[0].clears == 1


async def test_commands_without_a_counterpart_here_are_accepted(host: Host) -> None:
    host.send("++ifc", "++llo", "++loc")
    assert await host.everything() == b""
    host.send("++help")
    assert (await host.everything()).splitlines().count(b"++addr") == 1
    host.send("++rst")
    assert await host.ask("++addr") == b"0"


async def test_nobody_listens_at_an_empty_address(
    host: Host, devices: list[ScriptedDevice]
) -> None:
    host.send("++addr 9", "OUTP 1", "++clr", "++trg", "++read_tmo_ms 1", "++read eoi")
    assert await host.everything() == b""
    assert [device.executed for device in devices] == [[], []]


async def test_nobody_listens_where_enough_clients_are(
    served: Served, host: Host, devices: list[ScriptedDevice]
) -> None:
    devices[0].client_limit = 1
    assert await host.ask("A?", "++read eoi") == b"A?"
    second = await Host.connect(served.port)
    second.send("++read_tmo_ms 1", "OUTP 1", "++read eoi")
    assert await second.everything() == b""
    host.writer.close()
    await until(lambda: served.place.clients == 0)
    assert await second.ask("B?", "++read_tmo_ms 1000", "++read eoi") == b"B?"
    assert devices[0].executed == ["A?", "B?"]


async def test_a_read_under_way_holds_up_its_own_host_only(
    served: Served, host: Host, devices: list[ScriptedDevice]
) -> None:
    other = await Host.connect(served.port)
    host.send("++read_tmo_ms 3000", "++read eoi", "OUTP 1")
    await until(lambda: devices[0].reads_without_query == 1)
    assert await other.ask("OUTP 0", "A?", "++read eoi") == b"A?"
    assert devices[0].executed == ["OUTP 0", "A?"]
    host.writer.transport.abort()
    await until(lambda: served.place.clients == 1)
    assert devices[0].executed == ["OUTP 0", "A?"]


async def test_faults_strike_the_replies(served: Served, host: Host) -> None:
    served.place.add_fault(Rule("garbage", data="2121"))
    assert await host.ask("A?", "++read eoi") == b"!!A?"


async def test_a_freeze_holds_the_lines_up_and_a_thaw_lets_them_go_on(
    served: Served, host: Host, devices: list[ScriptedDevice]
) -> None:
    served.place.add_fault(Rule("frozen", pattern="A"))
    host.send("A", "B?", "++read eoi")
    await until(lambda: served.place.frozen)
    await asyncio.sleep(0.02)
    assert devices[0].executed == ["A"]
    served.place.lift()
    assert await host.line() == b"B?"


async def test_nothing_is_executed_after_the_line_that_drops_the_connection(
    served: Served, host: Host, devices: list[ScriptedDevice]
) -> None:
    served.place.add_fault(Rule("drop", pattern="A"))
    host.send("A", "OUTP 1")
    async with asyncio.timeout(10):
        assert await host.reader.read() == b""
    await until(lambda: served.place.clients == 0)
    assert devices[0].executed == ["A"]


async def test_a_host_that_never_reads_is_left_unread_and_the_others_go_on(
    served: Served, host: Host, devices: list[ScriptedDevice]
) -> None:
    devices[0].script["BIG?"] = Scripted("b" * 100_000)
    other = await Host.connect(served.port)
    host.writer.transport.pause_reading()
    for _ in range(500):
        host.send("BIG?", "++read eoi")
    for number in range(50):
        assert await other.ask(f"A{number}?", "++read eoi") == f"A{number}?".encode()
    assert 0 < devices[0].executed.count("BIG?") < 200


@pytest.mark.parametrize(
    ("words", "addresses"),
    [
        ([], []),
        (["5"], [Address(5)]),
        (["5", "96", "6"], [Address(5, 96), Address(6)]),
        (["96"], None),
        (["5", "96", "97"], None),
        (["31"], None),
        (["-1"], None),
    ],
)
def test_addresses_are_pairs_of_primary_and_secondary(
    words: list[str], addresses: list[Address] | None
) -> None:
    assert parse_addresses(words) == addresses


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("GPIB0::5::INSTR", (0, Address(5))),
        ("GPIB1::9::2::INSTR", (1, Address(9, 98))),
        ("TCPIP0::127.0.0.1::inst0::INSTR", None),
    ],
)
def test_an_address_is_taken_from_the_resource_name(
    name: str, found: tuple[int, Address] | None
) -> None:
    assert parse_resource(name) == found


async def test_places_off_the_bus_or_on_two_boards_are_refused_in_one_line() -> None:
    device = ScriptedDevice()
    with pytest.raises(ValueError, match="no instrument has an address such as GPIB0::5::INSTR"):
        await PrologixListener().start([place_for(device, "ASRL1::INSTR")], 0)
    boards = [place_for(device, f"GPIB{board}::5::INSTR") for board in (0, 1)]
    with pytest.raises(ValueError, match="one adapter is one board, not GPIB0, GPIB1"):
        await PrologixListener().start(boards, 0)
