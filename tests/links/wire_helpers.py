"""`VisaLink` by PyVISA-py to the served SMU, over each wire."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pyvisa

from pytest_safetyq import SafetyAwareDispatcher
from pytest_safetyq.links.visa import VisaLink
from pytest_safetyq.links.visa_session import VisaAddress
from sim_instruments import WitnessEntry
from sim_instruments.sim_bench import SimBench

OPEN_S = 5.0
LEFT_BEHIND_S = 10.0


@asynccontextmanager
async def driven(
    sim_bench: SimBench, wire: str, *, resync_budget_s: float = 2.0, **address: Any
) -> AsyncIterator[SafetyAwareDispatcher]:
    """Drive the SMU over ``wire`` by a `VisaLink`."""
    manager = pyvisa.ResourceManager("@py")
    # An adapter has to stay open as long as the instruments behind it are used.
    adapters = [manager.open_resource(name) for name in sim_bench.interfaces.values()]
    resource = sim_bench.resource_name("smu", wire)
    link = VisaLink(
        VisaAddress(resource=resource, library="@py", **address), resync_budget_s=resync_budget_s
    )
    await link.open(OPEN_S)
    try:
        async with SafetyAwareDispatcher.on(link) as dispatcher:
            yield dispatcher
    finally:
        await link.close()
        await left_behind_ended()
        for adapter in adapters:
            with suppress(Exception):
                await asyncio.to_thread(adapter.close)


async def left_behind_ended() -> None:
    """Wait for calls that were left behind.

    A PyVISA-py call of which the server goes away spins until its timeout, and would slow down
    whatever the next test measures in this process.
    """
    for thread in threading.enumerate():
        if thread.name.startswith("safetyq "):
            await asyncio.to_thread(thread.join, LEFT_BEHIND_S)


async def executed(
    sim_bench: SimBench, message: str, *, times: int = 1, timeout_s: float = 5.0
) -> WitnessEntry:
    """Return the entry of the witness that says that ``message`` was executed so often."""
    until_s = time.monotonic() + timeout_s
    while time.monotonic() < until_s:
        entries = [entry for entry in sim_bench.witness() if entry.message == message]
        if len(entries) >= times:
            return entries[times - 1]
        await asyncio.sleep(0.005)
    raise AssertionError(f"{message} was not executed {times} times")
