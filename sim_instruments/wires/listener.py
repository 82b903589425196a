"""What every wire's listener offers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sim_instruments.wires.place import Place

HOST = "127.0.0.1"
"""The only address that anything listens on: a simulation is nobody else's business."""


class Listener(Protocol):
    """Serves one instrument on one wire, or several where the wire carries several."""

    @property
    def resource_names(self) -> dict[str, str]:
        """PyVISA's resource names by the names of the places, once it is started."""

    @property
    def interface(self) -> str | None:
        """A resource that has to be opened first and kept open, as with Prologix, else `None`."""

    async def start(self, places: Sequence[Place], port: int) -> None:
        """Begin to listen.

        Args:
            places: what is served, exactly one unless the wire is shared.
            port: TCP port on 127.0.0.1, 0 for any that is free.

        Raises:
            OSError: the port is in use.
            ValueError: in one line, why these places cannot be served on this wire here.
        """

    async def stop(self) -> None:
        """Take no further client, and remove what was made; connections are ended by the server."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A kind of wire.

    Attributes:
        listener: makes a listener.
        is_shared: whether one listener serves all instruments.
        has_port: whether it listens on TCP.
    """

    listener: Callable[[], Listener]
    is_shared: bool = False
    has_port: bool = True


class TcpListener:
    """A TCP port on the loopback interface, for the listeners of TCP wires."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None

    async def listen(self, make: Callable[[], asyncio.BaseProtocol], port: int) -> int:
        """Serve each connection with a stream of its own; return the port.

        Raises:
            OSError: the port is in use.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(make, HOST, port)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        """Take no further connection; the server ends those that there are by their places."""
        if self._server is not None:
            self._server.close()
