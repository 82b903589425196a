"""64 clients at once on the wires with frames: nothing may be lost, and nothing reach another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hislip_client import Client
from scripted_bench import close_connections, connect, until
from vxi11_client import Link

from sim_instruments.sim_bench import SimBench

CLIENTS = 64
EACH = 40

Ask = Callable[[str], Awaitable[str]]


async def ask_by_hislip(bench: SimBench) -> Ask:
    client = await Client.connect(int(bench.resource_name("supply").split(",")[1].split(":")[0]))
    return client.query


async def ask_by_vxi11(bench: SimBench) -> Ask:
    link = await Link.create(int(bench.resource_name("supply").split(",")[1].split(":")[0]))
    return link.query


async def ask_by_prologix(bench: SimBench) -> Ask:
    reader, writer = await connect(int(bench.interfaces["prologix"].split("::")[2]))
    writer.write(b"++addr 6\n++eos 2\n++read_tmo_ms 3000\n")

    async def ask(text: str) -> str:
        writer.write(f"{text}\n++read eoi\n".encode())
        return (await reader.readline()).decode().strip()

    return ask


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(ask_by_hislip, marks=pytest.mark.sim_bench(wires=["hislip"])),
        pytest.param(ask_by_vxi11, marks=pytest.mark.sim_bench(wires=["vxi11"])),
        pytest.param(ask_by_prologix, marks=pytest.mark.sim_bench(wires=["prologix"])),
    ],
)
async def test_64_clients_at_once_each_get_their_own_answers(
    sim_bench: SimBench, begin: Callable[[SimBench], Awaitable[Ask]]
) -> None:
    async def converse(number: int) -> int:
        ask = await begin(sim_bench)
        right = 0
        for count in range(EACH):
            # A value that tells the client and the question, in one message, which is atomic.
            value = f"{number * 0.4 + count * 1e-3:.3f}"
            right += float(await ask(f"VOLT {value};VOLT?")) == float(value)
        return right

    async with asyncio.timeout(100):
        assert await asyncio.gather(*map(converse, range(CLIENTS))) == [EACH] * CLIENTS
        assert len(sim_bench.witness()) == CLIENTS * EACH
        assert sim_bench.control.state("supply").clients == CLIENTS
    await close_connections()
    await until(lambda: sim_bench.control.state("supply").clients == 0)
