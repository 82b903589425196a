"""Arguments of the core channel's procedures (VXI-11 rev. 1.0, C.1). Timeouts are in seconds."""

from __future__ import annotations

from typing import NamedTuple

from sim_instruments.wires.rpc.xdr import XdrReader
from sim_instruments.wires.vxi11.codes import Flag

MAX_WRITE_BYTES = 1024 * 1024
"""Longest data of one `device_write`, as the reply of `create_link` says; longer is an error."""

_MAX_TEXT_BYTES = 1024
_MAX_HANDLE_BYTES = 40
_ANY_LENGTH = 2**32 - 1


class CreateLink(NamedTuple):
    """`create_link`: whether to lock, how long to wait for the lock, and which device."""

    lock_device: bool
    lock_timeout_s: float
    device: str


class Write(NamedTuple):
    """`device_write`."""

    link: int
    lock_timeout_s: float
    flags: Flag
    data: bytes


class Read(NamedTuple):
    """`device_read`: at most `request_bytes`, up to `term_char` if the flags say so."""

    link: int
    request_bytes: int
    io_timeout_s: float
    lock_timeout_s: float
    flags: Flag
    term_char: int


class Generic(NamedTuple):
    """What the procedures without data take."""

    link: int
    flags: Flag
    lock_timeout_s: float


def read_create_link(xdr: XdrReader) -> CreateLink:
    """Read the arguments of `create_link`; the client's own number is of no use to a server."""
    xdr.read_int()
    lock_device, lock_timeout_s = xdr.read_bool(), _read_seconds(xdr)
    device = xdr.read_opaque(_MAX_TEXT_BYTES).decode("ascii", "backslashreplace")
    return CreateLink(lock_device, lock_timeout_s, device)


def read_write(xdr: XdrReader) -> Write:
    """Read the arguments of `device_write`; no write to an instrument here waits for it."""
    link, _io_timeout_s, lock_timeout_s = xdr.read_int(), _read_seconds(xdr), _read_seconds(xdr)
    return Write(link, lock_timeout_s, _read_flags(xdr), xdr.read_opaque(_ANY_LENGTH))


def read_read(xdr: XdrReader) -> Read:
    """Read the arguments of `device_read`."""
    link, request_bytes = xdr.read_int(), xdr.read_uint()
    io_timeout_s, lock_timeout_s = _read_seconds(xdr), _read_seconds(xdr)
    flags, term_char = _read_flags(xdr), xdr.read_int() & 0xFF
    return Read(link, request_bytes, io_timeout_s, lock_timeout_s, flags, term_char)


def read_generic(xdr: XdrReader) -> Generic:
    """Read the arguments of a procedure without data."""
    arguments = read_lock(xdr)
    _read_seconds(xdr)
    return arguments


def read_lock(xdr: XdrReader) -> Generic:
    """Read the arguments of `device_lock`."""
    return Generic(xdr.read_int(), _read_flags(xdr), _read_seconds(xdr))


def read_link(xdr: XdrReader) -> int:
    """Read the arguments of `destroy_link`, `device_unlock` and `device_abort`."""
    return xdr.read_int()


def read_enable_srq(xdr: XdrReader) -> int:
    """Read the arguments of `device_enable_srq`; without interrupt channel only the link counts."""
    link = xdr.read_int()
    xdr.read_bool()
    xdr.read_opaque(_MAX_HANDLE_BYTES)
    return link


def _read_seconds(xdr: XdrReader) -> float:
    return xdr.read_uint() / 1000


def _read_flags(xdr: XdrReader) -> Flag:
    return Flag(xdr.read_int() & (Flag.WAIT_LOCK | Flag.END | Flag.TERM_CHAR_SET))
