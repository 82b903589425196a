"""Instruments whose every move a test decides, served in the test's own process."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sim_instruments.faults import FaultPlan
from sim_instruments.port import Terminators
from sim_instruments.shared import SharedInstrument
from sim_instruments.wires.listener import HOST, Listener
from sim_instruments.wires.place import Place
from sim_instruments.wires.registry import WIRES


@dataclass(frozen=True)
class Scripted:
    """What the device gives back for a message."""

    reply: str | None
    takes_s: float = 0.0
    lost: bool = False


@dataclass
class ScriptedDevice:
    """Answers what the script says; a question without a script with itself."""

    script: dict[str, Scripted] = field(default_factory=dict)
    client_limit: int | None = None
    service_enable: int = 0
    executed: list[str] = field(default_factory=list)
    interruptions: int = 0
    reads_without_query: int = 0
    clears: int = 0
    overruns: int = 0

    def execute(
        self, message: bytes, *, reply_waiting: bool = False, now_s: float | None = None
    ) -> Scripted:
        del reply_waiting, now_s
        text = message.decode("latin-1").strip()
        self.executed.append(text)
        return self.script.get(text, Scripted(text if text.endswith("?") else None))

    def overrun(self) -> None:
        self.overruns += 1

    def interrupted(self) -> None:
        self.interruptions += 1

    def unterminated(self) -> None:
        self.reads_without_query += 1

    def device_clear(self) -> None:
        self.clears += 1

    def status_byte(self, reply_waiting: bool) -> int:
        byte = 16 if reply_waiting else 0
        return byte | 64 if byte & self.service_enable else byte

    def output(self) -> dict[str, bool]:
        return {}

    def set_trait(self, name: str, value: object) -> None:
        raise ValueError(f"{name}={value}")


def place_for(device: ScriptedDevice, address: str = "GPIB0::5::INSTR") -> Place:
    shared = SharedInstrument(device, address)
    both = dict.fromkeys(["TCPIP INSTR", "GPIB INSTR"], Terminators())
    place = Place(address, address, shared, both, FaultPlan(random.Random(0)))
    place.wires.update(WIRES)
    return place


_opened: list[asyncio.StreamWriter] = []


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to what is served, until it is served no longer."""
    reader, writer = await asyncio.open_connection(HOST, port)
    _opened.append(writer)
    return reader, writer


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that is about to happen."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(0.001)


@dataclass
class Served:
    """A listener that is up."""

    listener: Listener
    place: Place
    port: int


@asynccontextmanager
async def serving(listener: Listener, *devices: ScriptedDevice) -> AsyncIterator[Served]:
    """Serve devices, at the GPIB addresses 5, 6 and so on where those matter."""
    places = [place_for(device, f"GPIB0::{5 + n}::INSTR") for n, device in enumerate(devices)]
    await listener.start(places, 0)
    name = listener.interface or listener.resource_names[places[0].name]
    (port,) = (int(part) for part in name.replace(",", "::").split("::") if part.isdecimal())
    try:
        yield Served(listener, places[0], port)
    finally:
        await listener.stop()
        for place in places:
            place.end()
        await close_connections()


async def close_connections() -> None:
    """Close what `connect` opened."""
    while _opened:
        writer = _opened.pop()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
