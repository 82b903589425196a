"""Raw sockets: program messages and replies on TCP, ended by their terminators."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from sim_instruments.port import Port, Reply
from sim_instruments.wires.listener import HOST, TcpListener
from sim_instruments.wires.place import Place, Refused
from sim_instruments.wires.stream import Stream

UNREAD_LIMIT = 256
"""Replies that may wait before the client's further messages are left unread."""


class Conversation(Stream):
    """One client of one instrument, each chunk executed as it comes.

    Args:
        place: the instrument.
        wire: the name of the wire, for the witness.
        interface: whose terminators hold.
    """

    def __init__(self, place: Place, wire: str, interface: str) -> None:
        super().__init__([place])
        self._place = place
        self._wire = wire
        self._interface = interface
        self._port: Port | None = None
        self._sending: asyncio.Task[None] | None = None

    def opened(self) -> None:
        """Let the client in, or close the connection when there are enough."""
        try:
            self._port = self._open_port()
        except Refused:
            self.close()

    def received(self, chunk: bytes) -> None:
        """Execute what has come, and send the replies that are due."""
        if self._port is not None:
            self._port.write(chunk)
            self._answer(self._port)

    def reconsider(self) -> None:
        """Send what could not be sent before."""
        super().reconsider()
        if self._port is not None:
            self._answer(self._port)

    def drop(self) -> bool:
        """Send the replies to earlier messages, then end the connection."""
        if self._port is not None:
            self._answer(self._port)
        return super().drop()

    def finished(self) -> None:
        """Close the connection once the client has what it asked for."""
        if self._sending is None:
            self.close()

    def lost(self) -> None:
        """Let go of the instrument."""
        if self._port is not None:
            self._port.close()

    def _open_port(self) -> Port:
        return self._place.open_port(
            self._wire, self.client, self, interface=self._interface, keeps_unread=True
        )

    def _answer(self, port: Port) -> None:
        while self._sending is None and port.unread:
            reply = port.take()
            if reply is None or not self.send_now(reply.payload, reply.effect):
                self._sending = asyncio.get_running_loop().create_task(self._send_rest(reply))
        if port.unread > UNREAD_LIMIT and not self._is_full:
            self.hold_reading(True)

    async def _send_rest(self, reply: Reply | None) -> None:
        with contextlib.suppress(ConnectionError):
            await self._send_all(reply)
        self._sending = None
        if self.ended.is_set():
            self.close()

    async def _send_all(self, reply: Reply | None) -> None:
        assert self._port is not None
        loop = asyncio.get_running_loop()
        while True:
            if reply is not None:
                await self.send(reply.payload, reply.effect)
            if self._is_full and self._port.unread <= UNREAD_LIMIT:
                self.hold_reading(False)
            due_s = self._port.due_s()
            if due_s is None:
                return
            reply = self._port.take()
            if reply is None:
                await asyncio.sleep(max(due_s - loop.time(), 0.0))


class SocketListener:
    """See `sim_instruments.wires.listener.Listener`."""

    interface = None

    def __init__(self) -> None:
        self.resource_names: dict[str, str] = {}
        self._tcp = TcpListener()

    async def start(self, places: Sequence[Place], port: int) -> None:
        """Begin to listen."""
        (place,) = places
        bound = await self._tcp.listen(lambda: Conversation(place, "socket", "TCPIP SOCKET"), port)
        self.resource_names[place.name] = f"TCPIP0::{HOST}::{bound}::SOCKET"

    async def stop(self) -> None:
        """Take no further client."""
        await self._tcp.close()
