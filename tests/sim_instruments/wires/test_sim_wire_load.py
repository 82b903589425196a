"""Many clients at once: no reply may be lost, and none may reach another client."""

from __future__ import annotations

import asyncio

import pytest

from sim_instruments.sim_bench import SimBench

CLIENTS = 64
TRANSACTIONS = 100_000
EACH = TRANSACTIONS // CLIENTS + 1


async def converse(port: int, client: int) -> int:
    """Ask questions whose answers nobody else gets; return how many were answered rightly."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    right = 0
    try:
        for number in range(EACH):
            # Six digits that tell the client and the question, in one message, which is atomic.
            value = f"{client * 1e-1 + number * 1e-5:.5f}"
            writer.write(f"VOLT {value};VOLT?\n".encode())
            reply = await reader.readline()
            right += abs(float(reply) - float(value)) < 1e-5 * (1 + client)
    finally:
        writer.close()
    return right


@pytest.mark.timeout(900)  # ten seconds on a machine of its own
async def test_64_clients_and_100_000_transactions(sim_bench: SimBench) -> None:
    port = int(sim_bench.resource_name("supply").split("::")[2])
    right = await asyncio.gather(*(converse(port, client) for client in range(CLIENTS)))
    assert right == [EACH] * CLIENTS
    assert len(sim_bench.witness()) == EACH * CLIENTS >= TRANSACTIONS
