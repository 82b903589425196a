"""One client's TCP connection, and the faults that strike it: written once for all wires."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Sequence

from sim_instruments.faults import UNHARMED, Effect
from sim_instruments.wires.place import Place

WRITE_LIMIT_BYTES = 64 * 1024
CHUNK_BYTES = 4096
"""What is taken from a client at a time, so that whoever sends a lot leaves others their turn."""

# `struct linger`: on, 0 seconds.
_RESET_AT_CLOSE = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


class Stream(asyncio.BufferedProtocol):
    """A connection on which nothing is sent and nothing read but as the faults allow.

    A wire's own class says in `received` what is done with what comes. A client that never reads
    has its own bytes left unread in turn, so that it holds up nobody else and fills no memory.
    asyncio sets `TCP_NODELAY` on its sockets.

    Args:
        places: the instruments that it leads to, more than one behind a Prologix adapter.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._transport: asyncio.Transport | None = None
        self._chunk = memoryview(bytearray(CHUNK_BYTES))
        self._sendable = asyncio.Event()
        self._is_writing_paused = False
        self._is_full = False
        self.ended = asyncio.Event()
        """Set once the client has closed its side, or the connection is gone."""

    @property
    def client(self) -> str:
        """Who is at the other end, `HOST:PORT`."""
        peer = self._transport and self._transport.get_extra_info("peername")
        return f"{peer[0]}:{peer[1]}" if peer else ""

    @property
    def is_client(self) -> bool:
        """Whether there is certainly somebody at the other end: who isn't read may have gone."""
        return self._transport is not None and self._transport.is_reading()

    @property
    def is_closing(self) -> bool:
        """Whether the connection is ended, or about to be."""
        return self._transport is None or self._transport.is_closing()

    def opened(self) -> None:
        """Called once the connection is there."""

    def received(self, chunk: bytes) -> None:
        """Called with the bytes that come, in order."""

    def finished(self) -> None:
        """Called once when the client has closed its side; by default closes the connection."""
        self.close()

    def lost(self) -> None:
        """Called once when the connection is gone, whether or not `finished` was called."""

    def send_now(self, frame: bytes, effect: Effect = UNHARMED) -> bool:
        """Send at once if nothing stands against it; return whether it was."""
        if effect is not UNHARMED or not self._sendable.is_set() or self.is_closing:
            return False
        self._write(frame)
        return True

    async def send(self, frame: bytes, effect: Effect = UNHARMED) -> None:
        """Send as the faults allow; one caller at a time.

        Args:
            frame: what goes on the wire.
            effect: that of the reply which the frame carries.

        Raises:
            ConnectionError: the connection is gone.
        """
        if effect.delay_s:
            await asyncio.sleep(effect.delay_s)
        for number, piece in enumerate(effect.pieces(frame)):
            if number:
                await asyncio.sleep(effect.piece_gap_s)
            await self._sendable.wait()
            self._write(piece)

    def hold_reading(self, full: bool) -> None:
        """Leave the client's bytes unread while there is no room for them."""
        self._is_full = full
        self.reconsider()

    def reconsider(self) -> None:
        """Look anew at what stands against reading and sending."""
        if self._transport is None:
            return
        if self._is_frozen or self._is_full or self._is_writing_paused or self.ended.is_set():
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
        is_stalled = any(place.stalled for place in self._places)
        if self._is_frozen or is_stalled or self._is_writing_paused:
            self._sendable.clear()
        else:
            self._sendable.set()

    def close(self) -> None:
        """Send what was handed over, then end the connection in good order (FIN)."""
        if self._transport is not None:
            self._transport.close()

    def drop(self) -> bool:
        """End the connection in good order, whatever the client waits for."""
        self.close()
        return True

    def reset(self) -> bool:
        """End the connection at once, so that the client gets a reset (RST)."""
        if self._transport is not None:
            connection = self._transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            self._transport.abort()
        return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=WRITE_LIMIT_BYTES)
        for place in self._places:
            place.attach(self)
        self.reconsider()
        self.opened()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Called by asyncio."""
        del sizehint
        return self._chunk

    def buffer_updated(self, nbytes: int) -> None:
        """Called by asyncio."""
        self.received(bytes(self._chunk[:nbytes]))

    def eof_received(self) -> bool:
        """Called by asyncio; what is owed to the client is still sent."""
        self.ended.set()
        self.reconsider()
        self.finished()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        del exc  # a client may vanish in any way
        self._transport = None
        for place in self._places:
            place.detach(self)
        self._sendable.set()
        self.ended.set()
        self.lost()

    def pause_writing(self) -> None:
        """Called by asyncio when the client does not read."""
        self._is_writing_paused = True
        self.reconsider()

    def resume_writing(self) -> None:
        """Called by asyncio when it reads again."""
        self._is_writing_paused = False
        self.reconsider()

    def _write(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection has ended")
        self._transport.write(data)

    @property
    def _is_frozen(self) -> bool:
        return any(place.frozen for place in self._places)
