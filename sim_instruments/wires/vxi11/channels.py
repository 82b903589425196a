"""Connections to the core channel and to the abort channel."""

from __future__ import annotations

import struct

from sim_instruments.faults import Effect
from sim_instruments.port import Port
from sim_instruments.wires.place import Place
from sim_instruments.wires.rpc.program import Program
from sim_instruments.wires.rpc.xdr import XdrReader
from sim_instruments.wires.rpc_stream import RpcStream
from sim_instruments.wires.vxi11.codes import (
    ABORT_PROGRAM,
    DEVICE_ABORT,
    VERSION,
    DeviceError,
    ErrorCode,
)
from sim_instruments.wires.vxi11.core import Core
from sim_instruments.wires.vxi11.links import Links

WIRE = "vxi11"


class CoreChannel(RpcStream):
    """A client's connection to the core channel.

    Args:
        place: the instrument.
        links: the links to it.
        abort_port: TCP port of the abort channel.
    """

    def __init__(self, place: Place, links: Links, abort_port: int) -> None:
        super().__init__(place)
        self._core = Core(links, place.lock, abort_port, self._open_port)

    def program(self) -> Program:
        """Give the procedures of the core channel."""
        return self._core.program

    def take_effect(self) -> Effect:
        """Give which faults strike the reply that was read."""
        return self._core.take_effect()

    def hang_up(self) -> None:
        """Let neither a read nor a wait for the lock go on."""
        self._core.hang_up()

    def release(self) -> None:
        """End the client's links, which gives its lock back unless a fault keeps it."""
        self._core.close(self._place.faults.lock_outlives_its_client)

    def _open_port(self) -> Port:
        return self._place.open_port(
            WIRE, self.client, self, interface="TCPIP INSTR", keeps_unread=False
        )


class AbortChannel(RpcStream):
    """A client's connection to the abort channel (VXI-11 rev. 1.0, B.6.13).

    Args:
        place: the instrument.
        links: the links to it, of whichever connection.
    """

    def __init__(self, place: Place, links: Links) -> None:
        super().__init__(place)
        self._links = links
        self._program = Program(ABORT_PROGRAM, VERSION, {DEVICE_ABORT: self._abort})

    def program(self) -> Program:
        """Give the one procedure of the abort channel."""
        return self._program

    async def _abort(self, xdr: XdrReader) -> bytes:
        number = xdr.read_int()
        try:
            self._links.find(number).abort()
        except DeviceError as error:
            return struct.pack(">i", error.code)
        return struct.pack(">i", ErrorCode.NO_ERROR)
