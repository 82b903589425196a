"""The listener of VXI-11: the core channel's port and the abort channel's beside it."""

from __future__ import annotations

from collections.abc import Sequence

from sim_instruments.wires.listener import HOST, TcpListener
from sim_instruments.wires.place import Place
from sim_instruments.wires.vxi11.channels import AbortChannel, CoreChannel
from sim_instruments.wires.vxi11.core import DEVICE_NAME
from sim_instruments.wires.vxi11.links import Links


class Vxi11Listener:
    """See `sim_instruments.wires.listener.Listener`."""

    interface = None

    def __init__(self) -> None:
        self.resource_names: dict[str, str] = {}
        self._core = TcpListener()
        self._abort = TcpListener()

    async def start(self, places: Sequence[Place], port: int) -> None:
        """Begin to listen; the abort channel takes any port that is free."""
        (place,) = places
        links = Links()
        abort_port = await self._abort.listen(lambda: AbortChannel(place, links), 0)
        bound = await self._core.listen(lambda: CoreChannel(place, links, abort_port), port)
        self.resource_names[place.name] = f"TCPIP0::{HOST},{bound}::{DEVICE_NAME}::INSTR"

    async def stop(self) -> None:
        """Take no further client."""
        await self._core.close()
        await self._abort.close()
