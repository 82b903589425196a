"""The control socket: requests and answers, one line of JSON each, and the witness to watch."""

from __future__ import annotations

import asyncio

import msgspec

from sim_instruments.framing import MAX_MESSAGE_BYTES, Framer
from sim_instruments.server.requests import Bench, Watch, request_from
from sim_instruments.wires.listener import HOST
from sim_instruments.witness import Witness

WATCHER_LIMIT_BYTES = 16 * 1024 * 1024


class ControlSocket:
    """Listens for those who control the bench.

    Args:
        bench: what they act on.
        witness: what they may watch.
    """

    def __init__(self, bench: Bench, witness: Witness) -> None:
        self._bench = bench
        self._witness = witness
        self._clients: set[_ControlClient] = set()
        self._server: asyncio.Server | None = None

    @property
    def has_clients(self) -> bool:
        """Whether somebody is connected."""
        return bool(self._clients)

    async def start(self, port: int) -> int:
        """Begin to listen; return the port.

        Raises:
            ValueError: in one line, why not.
        """
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: _ControlClient(self._bench, self._witness, self._clients), HOST, port
            )
        except OSError as error:
            raise ValueError(f"control socket at port {port}: {error}") from None
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    def stop(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
        for client in list(self._clients):
            client.close()


class _ControlClient(asyncio.Protocol):
    def __init__(self, bench: Bench, witness: Witness, clients: set[_ControlClient]) -> None:
        self._bench = bench
        self._witness = witness
        self._clients = clients
        self._framer = Framer(b"\n")
        self._transport: asyncio.Transport | None = None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._clients.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # a client may vanish in any way
        self._transport = None
        self._clients.discard(self)
        if self._send in self._witness.listeners:
            self._witness.listeners.remove(self._send)

    def data_received(self, data: bytes) -> None:
        for line in self._framer.feed(data):
            if line is None:
                self._answer(error=f"a line is longer than {MAX_MESSAGE_BYTES} bytes")
            elif line.strip():
                self._obey(line)

    def _obey(self, line: bytes) -> None:
        try:
            request = request_from(line)
            if isinstance(request, Watch):
                if self._send not in self._witness.listeners:
                    self._witness.listeners.append(self._send)
                result = None
            else:
                result = request.carry_out(self._bench)
        except ValueError as error:
            self._answer(error=str(error))
        else:
            self._answer(result=result)

    def _answer(self, **answer: object) -> None:
        self._send(msgspec.json.encode(answer) + b"\n")

    def _send(self, line: bytes) -> None:
        if self._transport is None:
            return
        self._transport.write(line)
        if self._transport.get_write_buffer_size() > WATCHER_LIMIT_BYTES:
            # Somebody who watches and does not read must not fill the memory.
            self._transport.abort()
