"""The listener of HiSLIP: both channels of every session come in by one port."""

from __future__ import annotations

from collections.abc import Sequence

from sim_instruments.wires.hislip.connection import SUB_ADDRESS, Connection
from sim_instruments.wires.hislip.sessions import Sessions
from sim_instruments.wires.listener import HOST, TcpListener
from sim_instruments.wires.place import Place


class HislipListener:
    """See `sim_instruments.wires.listener.Listener`."""

    interface = None

    def __init__(self) -> None:
        self.resource_names: dict[str, str] = {}
        self._tcp = TcpListener()

    async def start(self, places: Sequence[Place], port: int) -> None:
        """Begin to listen."""
        (place,) = places
        sessions = Sessions(place)
        bound = await self._tcp.listen(lambda: Connection(place, sessions), port)
        self.resource_names[place.name] = f"TCPIP0::{HOST}::{SUB_ADDRESS},{bound}::INSTR"

    async def stop(self) -> None:
        """Take no further client."""
        await self._tcp.close()
