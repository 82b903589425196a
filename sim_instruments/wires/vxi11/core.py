"""The core channel: what its procedures do (VXI-11 rev. 1.0, B.6)."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable

from sim_instruments.faults import UNHARMED, Effect
from sim_instruments.port import Port, Reply
from sim_instruments.wires.instrument_lock import InstrumentLock
from sim_instruments.wires.place import Refused
from sim_instruments.wires.rpc.program import Procedure, Program
from sim_instruments.wires.rpc.xdr import XdrReader, pack_opaque
from sim_instruments.wires.vxi11 import arguments
from sim_instruments.wires.vxi11.codes import (
    CORE_PROGRAM,
    VERSION,
    CoreProcedure,
    DeviceError,
    ErrorCode,
    Flag,
    Reason,
)
from sim_instruments.wires.vxi11.link import Link
from sim_instruments.wires.vxi11.links import Links
from sim_instruments.wires.vxi11.reading import split_reply

DEVICE_NAME = "inst0"
_INT = struct.Struct(">i")
_NO_ERROR = _INT.pack(ErrorCode.NO_ERROR)

_Handler = Callable[[XdrReader], Awaitable[bytes]]


class Core:
    """The procedures that one connection can call.

    Args:
        links: the links to the instrument; this connection adds its own and sees no other.
        lock: the instrument's lock.
        abort_port: where the abort channel is.
        open_port: lets the client in; raises `Refused`.
    """

    def __init__(
        self,
        links: Links,
        lock: InstrumentLock,
        abort_port: int,
        open_port: Callable[[], Port],
    ) -> None:
        self._links = links
        self._lock = lock
        self._abort_port = abort_port
        self._open_port = open_port
        self._own: dict[int, Link] = {}
        self._effect = UNHARMED
        self._is_over = False
        self.program = Program(CORE_PROGRAM, VERSION, self._procedures())

    def take_effect(self) -> Effect:
        """Give which faults strike the reply to the last call."""
        effect, self._effect = self._effect, UNHARMED
        return effect

    def hang_up(self) -> None:
        """Let no call of this connection wait any longer, as the client is gone."""
        self._is_over = True
        for link in self._own.values():
            link.hang_up()

    def close(self, lock_outlives_its_client: Callable[[], bool]) -> None:
        """End every link, as the client is gone.

        Args:
            lock_outlives_its_client: asked for each link that holds the lock.
        """
        for link in list(self._own.values()):
            self._end(link, keep_lock=link.holds_lock and lock_outlives_its_client())

    def _procedures(self) -> dict[int, Procedure]:
        at = CoreProcedure
        return {
            at.CREATE_LINK: _answer(self._create_link, after_error=bytes(12)),
            at.DEVICE_WRITE: _answer(self._write, after_error=bytes(4)),
            at.DEVICE_READ: _answer(self._read, after_error=bytes(8)),
            at.DEVICE_READSTB: _answer(self._read_status_byte, after_error=bytes(4)),
            at.DEVICE_TRIGGER: _answer(self._trigger),
            at.DEVICE_CLEAR: _answer(self._clear),
            at.DEVICE_REMOTE: _answer(self._accept),
            at.DEVICE_LOCAL: _answer(self._accept),
            at.DEVICE_LOCK: _answer(self._lock_device),
            at.DEVICE_UNLOCK: _answer(self._unlock_device),
            at.DEVICE_ENABLE_SRQ: _answer(self._enable_srq),
            at.DEVICE_DOCMD: _answer(_refuse(ErrorCode.OPERATION_NOT_SUPPORTED), bytes(4)),
            at.DESTROY_LINK: _answer(self._destroy_link),
            at.CREATE_INTR_CHAN: _answer(_refuse(ErrorCode.OPERATION_NOT_SUPPORTED)),
            at.DESTROY_INTR_CHAN: _answer(_refuse(ErrorCode.CHANNEL_NOT_ESTABLISHED)),
        }

    async def _create_link(self, xdr: XdrReader) -> bytes:
        wanted = arguments.read_create_link(xdr)
        if wanted.device.lower() != DEVICE_NAME:
            raise DeviceError(ErrorCode.DEVICE_NOT_ACCESSIBLE)
        try:
            link = self._links.add(self._open_port(), self._lock)
        except Refused:
            raise DeviceError(ErrorCode.OUT_OF_RESOURCES) from None
        self._own[link.number] = link
        if self._is_over:
            link.hang_up()
        if wanted.lock_device:
            try:
                await link.lock(Flag.WAIT_LOCK, wanted.lock_timeout_s)
            except DeviceError:
                self._end(link)
                raise
        return struct.pack(">iII", link.number, self._abort_port, arguments.MAX_WRITE_BYTES)

    async def _write(self, xdr: XdrReader) -> bytes:
        call = arguments.read_write(xdr)
        link = self._find(call.link)
        if len(call.data) > arguments.MAX_WRITE_BYTES:
            raise DeviceError(ErrorCode.PARAMETER_ERROR)
        await link.until_unlocked(call.flags, call.lock_timeout_s)
        link.port.write(call.data, end=Flag.END in call.flags)
        return struct.pack(">I", len(call.data))

    async def _read(self, xdr: XdrReader) -> bytes:
        call = arguments.read_read(xdr)
        link = self._find(call.link)
        await link.until_unlocked(call.flags, call.lock_timeout_s)
        reply = await link.next_reply(call.io_timeout_s)
        term_char = call.term_char if Flag.TERM_CHAR_SET in call.flags else None
        data, reason = split_reply(reply.payload, call.request_bytes, term_char)
        if Reason.END not in reason:
            link.port.put_back(Reply(reply.payload[len(data) :]))
        self._effect = reply.effect
        return _INT.pack(reason) + pack_opaque(data)

    async def _read_status_byte(self, xdr: XdrReader) -> bytes:
        link = await self._operate(xdr)
        return struct.pack(">I", link.port.status_byte())

    async def _trigger(self, xdr: XdrReader) -> bytes:
        # The same as the interface's trigger message (IEEE 488.2, 10.37).
        link = await self._operate(xdr)
        link.port.write(b"*TRG", end=True)
        return b""

    async def _clear(self, xdr: XdrReader) -> bytes:
        link = await self._operate(xdr)
        link.port.clear()
        return b""

    async def _accept(self, xdr: XdrReader) -> bytes:
        # There is no front panel that remote and local would concern.
        await self._operate(xdr)
        return b""

    async def _lock_device(self, xdr: XdrReader) -> bytes:
        call = arguments.read_lock(xdr)
        await self._find(call.link).lock(call.flags, call.lock_timeout_s)
        return b""

    async def _unlock_device(self, xdr: XdrReader) -> bytes:
        self._find(arguments.read_link(xdr)).unlock()
        return b""

    async def _enable_srq(self, xdr: XdrReader) -> bytes:
        # Without an interrupt channel there is nothing that enabling could cause.
        self._find(arguments.read_enable_srq(xdr))
        return b""

    async def _destroy_link(self, xdr: XdrReader) -> bytes:
        self._end(self._find(arguments.read_link(xdr)))
        return b""

    async def _operate(self, xdr: XdrReader) -> Link:
        call = arguments.read_generic(xdr)
        link = self._find(call.link)
        await link.until_unlocked(call.flags, call.lock_timeout_s)
        return link

    def _find(self, number: int) -> Link:
        if number not in self._own:
            raise DeviceError(ErrorCode.INVALID_LINK)
        return self._own[number]

    def _end(self, link: Link, *, keep_lock: bool = False) -> None:
        del self._own[link.number]
        self._links.remove(link)
        link.close(keep_lock=keep_lock)


def _answer(handler: _Handler, after_error: bytes = b"") -> Procedure:
    """Make a procedure whose results begin with the error code.

    Args:
        handler: gives the results that follow it, or raises `DeviceError`.
        after_error: what follows it then.
    """

    async def procedure(xdr: XdrReader) -> bytes:
        try:
            return _NO_ERROR + await handler(xdr)
        except DeviceError as error:
            return _INT.pack(error.code) + after_error

    return procedure


def _refuse(code: ErrorCode) -> _Handler:
    async def handler(_xdr: XdrReader) -> bytes:
        raise DeviceError(code)

    return handler
