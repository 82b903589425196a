"""A VXI-11 client on asyncio, for what PyVISA cannot do: abort, and several calls at once."""

from __future__ import annotations

import asyncio
import struct
from itertools import count
from typing import Self

from scripted_bench import connect

from sim_instruments.wires.rpc.records import RecordReader, mark_record
from sim_instruments.wires.rpc.xdr import XdrReader, pack_opaque
from sim_instruments.wires.vxi11.codes import (
    ABORT_PROGRAM,
    CORE_PROGRAM,
    DEVICE_ABORT,
    VERSION,
    CoreProcedure,
    Flag,
)

PATIENCE_S = 10.0
HEADER_BYTES = 24


class Connection:
    """A connection to either channel."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, program: int
    ) -> None:
        self.reader = reader
        self.writer = writer
        self._program = program
        self._xids = count(1)
        self._records = RecordReader()
        self._replies: list[bytes] = []

    @classmethod
    async def connect(cls, port: int, program: int = CORE_PROGRAM) -> Self:
        return cls(*await connect(port), program)

    def send(
        self,
        procedure: int,
        arguments: bytes = b"",
        *,
        program: int | None = None,
        version: int = VERSION,
        rpc_version: int = 2,
    ) -> int:
        xid = next(self._xids)
        header = (xid, 0, rpc_version, program or self._program, version, procedure, 0, 0, 0, 0)
        self.writer.write(mark_record(struct.pack(">10I", *header) + arguments))
        return xid

    async def receive(self) -> bytes:
        """Give the next reply message, header included."""
        async with asyncio.timeout(PATIENCE_S):
            while not self._replies:
                chunk = await self.reader.read(1 << 20)
                if not chunk:
                    raise EOFError("the server has closed the connection")
                self._replies += self._records.feed(chunk)
        return self._replies.pop(0)

    async def call(self, procedure: int, arguments: bytes = b"") -> XdrReader:
        """Call and give the results."""
        xid = self.send(procedure, arguments)
        return results(await self.receive(), xid)

    async def at_end(self) -> bool:
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read(1) == b""


class Link:
    """A link on the core channel."""

    def __init__(
        self, connection: Connection, error: int, number: int, abort_port: int, max_bytes: int
    ) -> None:
        self.connection = connection
        self.error = error
        self.number = number
        self.abort_port = abort_port
        self.max_bytes = max_bytes

    @classmethod
    async def create(
        cls,
        port: int,
        *,
        connection: Connection | None = None,
        lock: bool = False,
        lock_timeout_ms: int = 0,
        device: str = "inst0",
    ) -> Self:
        connection = connection or await Connection.connect(port)
        arguments = struct.pack(">iII", 7, lock, lock_timeout_ms) + pack_opaque(device.encode())
        xdr = await connection.call(CoreProcedure.CREATE_LINK, arguments)
        error, number = xdr.read_int(), xdr.read_int()
        return cls(connection, error, number, xdr.read_uint(), xdr.read_uint())

    async def write(
        self, data: bytes, *, flags: int = Flag.END, lock_timeout_ms: int = 0
    ) -> tuple[int, int]:
        head = struct.pack(">iIIi", self.number, 1000, lock_timeout_ms, flags)
        xdr = await self.connection.call(CoreProcedure.DEVICE_WRITE, head + pack_opaque(data))
        return xdr.read_int(), xdr.read_uint()

    def read_arguments(
        self,
        *,
        request: int = 4096,
        io_timeout_ms: int = 5000,
        lock_timeout_ms: int = 0,
        flags: int = 0,
        term_char: int = 0,
    ) -> bytes:
        return struct.pack(
            ">iIIIii", self.number, request, io_timeout_ms, lock_timeout_ms, flags, term_char
        )

    async def read(self, **arguments: int) -> tuple[int, int, bytes]:
        """Give error, reason and data."""
        encoded = self.read_arguments(**arguments)
        xdr = await self.connection.call(CoreProcedure.DEVICE_READ, encoded)
        return xdr.read_int(), xdr.read_int(), xdr.read_opaque(1 << 30)

    async def query(self, text: str) -> str:
        assert await self.write(text.encode()) == (0, len(text))
        error, reason, data = await self.read()
        assert (error, reason) == (0, 4)
        return data.decode().strip()

    async def generic(
        self, procedure: CoreProcedure, *, flags: int = 0, lock_timeout_ms: int = 0
    ) -> XdrReader:
        arguments = struct.pack(">iiII", self.number, flags, lock_timeout_ms, 1000)
        return await self.connection.call(procedure, arguments)

    async def lock(self, *, flags: int = 0, lock_timeout_ms: int = 0) -> int:
        arguments = struct.pack(">iiI", self.number, flags, lock_timeout_ms)
        return (await self.connection.call(CoreProcedure.DEVICE_LOCK, arguments)).read_int()

    async def on_link(self, procedure: CoreProcedure) -> int:
        """Call a procedure that takes nothing but the link; give its error."""
        arguments = struct.pack(">i", self.number)
        return (await self.connection.call(procedure, arguments)).read_int()

    async def abort(self) -> int:
        """Abort by the abort channel."""
        connection = await Connection.connect(self.abort_port, ABORT_PROGRAM)
        xdr = await connection.call(DEVICE_ABORT, struct.pack(">i", self.number))
        connection.writer.close()
        return xdr.read_int()

    def vanish(self) -> None:
        """Be gone without a word, as after `kill -9`."""
        self.connection.writer.transport.abort()


def results(reply: bytes, xid: int) -> XdrReader:
    """Give the results of a successful call."""
    assert struct.unpack(">6I", reply[:HEADER_BYTES]) == (xid, 1, 0, 0, 0, 0), reply[:40]
    return XdrReader(reply[HEADER_BYTES:])
