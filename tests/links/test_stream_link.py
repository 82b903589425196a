"""Native links over real wires: the simulated bench on a socket and on a serial line."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from stream_helpers import link_to

from pytest_safetyq import LinkLost, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.links import Link
from pytest_safetyq.links.stream_link import StreamLink
from sim_instruments.sim_bench import SimBench

BUDGET_S = 0.3
WIRES = ["socket", "serial"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimBench]:
    with SimBench(wires=WIRES, directory=tmp_path_factory.mktemp("served")) as bench:
        yield bench


@pytest.fixture
def bench(served: SimBench) -> Iterator[SimBench]:
    yield served
    served.control.lift()


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


Use = Callable[[SafetyAwareDispatcher], Awaitable[None]]


def run(bench: SimBench, wire: str, use: Use, **settings: Any) -> None:
    """Open the SMU on ``wire``, and let ``use`` have its dispatcher."""

    async def main() -> None:
        link = link_to(bench.resource_name("smu", wire), resync_budget_s=1.0, **settings)
        await link.open(2.0)
        try:
            async with SafetyAwareDispatcher.on(link, name="smu") as dispatcher:
                await use(dispatcher)
        finally:
            await link.close()

    asyncio.run(main())


async def ask(dispatcher: SafetyAwareDispatcher, query: bytes, budget_s: float = BUDGET_S) -> bytes:
    return await (await dispatcher.submit("q", query, 2, timeout=budget_s))  # type: ignore[arg-type]


async def write(dispatcher: SafetyAwareDispatcher, command: bytes) -> None:
    await (await dispatcher.submit("w", command, 1, timeout=BUDGET_S))  # type: ignore[arg-type]


def test_it_is_a_link() -> None:
    assert isinstance(link_to("TCPIP0::127.0.0.1::1::SOCKET"), Link)


def test_replies_belong_to_their_queries(bench: SimBench, wire: str) -> None:
    async def use(smu: SafetyAwareDispatcher) -> None:
        for volts in range(200):
            await write(smu, b":SOUR:VOLT %d" % volts)
            assert float(await ask(smu, b":SOUR:VOLT?")) == volts

    run(bench, wire, use)


def test_a_late_reply_never_answers_another_query(bench: SimBench, wire: str) -> None:
    bench.control.fault("smu", "delay", pattern=":SOUR:VOLT\\?", count=1, seconds=0.5)

    async def use(smu: SafetyAwareDispatcher) -> None:
        await write(smu, b":SOUR:VOLT 7")
        with pytest.raises(TransactionTimeout):
            await ask(smu, b":SOUR:VOLT?")
        assert await ask(smu, b":OUTP?", 2.0) == b"0"
        assert smu.discarded_replies == 1

    run(bench, wire, use)


def test_a_trickling_reply_keeps_to_the_budget(bench: SimBench, wire: str) -> None:
    bench.control.fault("smu", "trickle", pattern=":SOUR:VOLT\\?", count=1, seconds=0.05)

    async def use(smu: SafetyAwareDispatcher) -> None:
        begun = time.monotonic()
        with pytest.raises(TransactionTimeout):
            await ask(smu, b":SOUR:VOLT?")
        assert time.monotonic() - begun < BUDGET_S + 0.5
        assert await ask(smu, b":OUTP?", 5.0) == b"0"

    run(bench, wire, use)


def test_a_fragmented_reply_is_one_reply(bench: SimBench, wire: str) -> None:
    bench.control.fault("smu", "fragment", pattern="IDN", count=1, seconds=0.002, size=3)

    async def use(smu: SafetyAwareDispatcher) -> None:
        assert (await ask(smu, b"*IDN?")).startswith(b"KEITHLEY")

    run(bench, wire, use)


@pytest.mark.parametrize("kind", ["drop", "reset"])
def test_a_connection_that_ends_is_seen_at_once_and_opened_again(
    bench: SimBench, kind: str
) -> None:
    bench.control.fault("smu", kind, pattern="READ", count=1)

    async def use(smu: SafetyAwareDispatcher) -> None:
        begun = time.monotonic()
        with pytest.raises(LinkLost):
            await ask(smu, b":READ?", 5.0)
        assert time.monotonic() - begun < 2.0
        assert await ask(smu, b":OUTP?") == b"0"

    run(bench, "socket", use)


def test_a_serial_port_that_vanishes_is_lost_and_opened_when_it_is_back(bench: SimBench) -> None:
    async def use(smu: SafetyAwareDispatcher) -> None:
        bench.control.happen("smu", "unplug")
        with pytest.raises((LinkLost, TransactionTimeout)):
            await ask(smu, b":OUTP?")
        bench.control.lift("smu", "unplug")
        assert await ask(smu, b":OUTP?") == b"0"

    run(bench, "serial", use)


def test_a_write_that_nobody_reads_keeps_to_the_budget(bench: SimBench, wire: str) -> None:
    async def use(smu: SafetyAwareDispatcher) -> None:
        bench.control.happen("smu", "frozen")
        begun = time.monotonic()
        with pytest.raises(TransactionTimeout):
            await write(smu, b"*CLS;" * 2_000_000)  # more than the system holds back
        assert time.monotonic() - begun < BUDGET_S + 1.0
        bench.control.lift("smu", "frozen")
        # What was cut short is gone with its connection.
        assert await ask(smu, b":OUTP?", 5.0) == b"0"

    run(bench, wire, use)


def test_a_reply_that_nobody_asked_for_is_cleared_up(bench: SimBench, wire: str) -> None:
    bench.control.fault("smu", "garbage", pattern="READ", count=1, data=b"1.5\n".hex())

    async def use(smu: SafetyAwareDispatcher) -> None:
        assert await ask(smu, b":READ?") == b"1.5"
        await asyncio.sleep(0.05)  # what follows has come
        assert await ask(smu, b":OUTP?") == b"0"

    run(bench, wire, use)


def test_an_e_stop_is_written_on_a_dirty_link_at_once(bench: SimBench, wire: str) -> None:
    bench.control.fault("smu", "delay", pattern="READ", count=1, seconds=1.0)

    async def use(smu: SafetyAwareDispatcher) -> None:
        with pytest.raises(TransactionTimeout):
            await ask(smu, b":READ?", 0.1)
        begun = time.monotonic()
        await (await smu.submit("off", b":OUTP OFF", 0))  # type: ignore[arg-type]
        assert time.monotonic() - begun < 0.3

    run(bench, wire, use)


def test_a_long_block_comes_whole(bench: SimBench) -> None:
    """Over a socket of our own: the simulated instruments have no blocks."""
    data = bytes(range(256)) * 40_000

    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.readline():
                writer.write(b"#8%08d" % len(data) + data + b"\n")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        link = link_to(f"TCPIP0::127.0.0.1::{port}::SOCKET", identity_query=None)
        await link.open(2.0)
        await link.write(b"CURV?")
        reply = await link.read()
        assert reply[10:] == data
        await link.close()
        server.close()
        await server.wait_closed()

    asyncio.run(main())


def test_small_writes_do_not_wait_for_acknowledgements(bench: SimBench) -> None:
    async def main() -> None:
        link = link_to(bench.resource_name("smu", "socket"))
        await link.open(2.0)
        assert link._stream is not None
        assert link._stream._transport is not None
        raw = link._stream._transport.get_extra_info("socket")
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        await link.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        ("TCPIP0::127.0.0.1::9::SOCKET", "refused"),
        ("TCPIP0::127.0.0.1::99999::SOCKET", "write a port from 1 to 65535"),
        ("ASRL/dev/nowhere::INSTR", "No such file"),
        ("TCPIP0::no-such-host.invalid::5025::SOCKET", "can't be opened"),
    ],
)
def test_what_can_not_be_opened_says_why(resource: str, words: str) -> None:
    async def main() -> StreamLink:
        return await link_to(resource).open(5.0)

    with pytest.raises(LinkLost, match=words) as caught:
        asyncio.run(main())
    assert str(caught.value).startswith(resource)


def test_a_silent_instrument_says_so_when_it_is_opened(bench: SimBench, wire: str) -> None:
    bench.control.fault("smu", "no_reply", pattern="IDN", count=1)

    async def main() -> None:
        await link_to(bench.resource_name("smu", wire)).open(BUDGET_S)

    with pytest.raises(LinkLost, match=r"no answer to \*IDN\? in 0\.3 s"):
        asyncio.run(main())


def test_a_reply_that_another_process_had_asked_for_is_no_identity(bench: SimBench) -> None:
    bench.control.fault("smu", "delay", pattern="READ", count=1, seconds=0.3)

    async def main() -> None:
        link = link_to(bench.resource_name("smu", "serial"))
        await link.open(2.0)
        await link.write(b":READ?")
        await link.close()
        await link.open(2.0)
        assert link.identity is not None
        assert link.identity.startswith(b"KEITHLEY")
        await link.close()

    asyncio.run(main())


def test_a_second_opener_of_a_serial_port_is_refused(bench: SimBench) -> None:
    async def main() -> None:
        first = await link_to(bench.resource_name("smu", "serial")).open(2.0)
        with pytest.raises(LinkLost, match="lock"):
            await link_to(bench.resource_name("smu", "serial")).open(2.0)
        await first.close()

    asyncio.run(main())
