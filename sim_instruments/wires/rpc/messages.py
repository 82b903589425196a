"""Call messages in, reply messages out (RFC 5531, 9)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from sim_instruments.wires.rpc.errors import GarbageArguments, RpcError
from sim_instruments.wires.rpc.xdr import XdrReader

RPC_VERSION = 2

_CALL, _REPLY = 0, 1
_ACCEPTED, _DENIED = 0, 1
_NO_AUTHENTICATION = (0, 0)
_MAX_AUTHENTICATION_BYTES = 400

_SUCCESS, _PROG_UNAVAIL, _PROG_MISMATCH, _PROC_UNAVAIL, _GARBAGE_ARGS = range(5)
_RPC_MISMATCH = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    Attributes:
        xid: what the reply must repeat.
        rpc_version: version of the call message itself; only `RPC_VERSION` can be answered.
        program: number of the program called.
        version: version of it.
        procedure: number of the procedure in it.
        arguments: encoded arguments, not yet read.
    """

    xid: int
    rpc_version: int
    program: int
    version: int
    procedure: int
    arguments: XdrReader


def parse_call(record: bytes) -> Call:
    """Read a call message. Whatever credentials it has are accepted.

    Raises:
        RpcError: it is no call message.
    """
    reader = XdrReader(record)
    try:
        xid, kind, rpc_version = reader.read_uint(), reader.read_uint(), reader.read_uint()
        if kind != _CALL:
            raise RpcError(f"message type {kind}, expected a call ({_CALL})")
        if rpc_version != RPC_VERSION:
            return Call(xid, rpc_version, 0, 0, 0, reader)
        program, version, procedure = reader.read_uint(), reader.read_uint(), reader.read_uint()
        for _credential_then_verifier in range(2):
            reader.read_uint()
            reader.read_opaque(_MAX_AUTHENTICATION_BYTES)
    except GarbageArguments as error:
        raise RpcError(f"malformed call: {error}") from None
    return Call(xid, rpc_version, program, version, procedure, reader.rest())


def reply_success(xid: int, results: bytes) -> bytes:
    """Encode the results of a call."""
    return _accepted(xid, _SUCCESS) + results


def reply_program_unavailable(xid: int) -> bytes:
    """Say that there is no such program here."""
    return _accepted(xid, _PROG_UNAVAIL)


def reply_program_mismatch(xid: int, version: int) -> bytes:
    """Say which version of the program there is."""
    return _accepted(xid, _PROG_MISMATCH) + struct.pack(">2I", version, version)


def reply_procedure_unavailable(xid: int) -> bytes:
    """Say that the program has no such procedure."""
    return _accepted(xid, _PROC_UNAVAIL)


def reply_garbage_arguments(xid: int) -> bytes:
    """Say that the arguments cannot be read."""
    return _accepted(xid, _GARBAGE_ARGS)


def reply_rpc_mismatch(xid: int) -> bytes:
    """Say which version of call messages is understood."""
    return struct.pack(">6I", xid, _REPLY, _DENIED, _RPC_MISMATCH, RPC_VERSION, RPC_VERSION)


def _accepted(xid: int, status: int) -> bytes:
    return struct.pack(">6I", xid, _REPLY, _ACCEPTED, *_NO_AUTHENTICATION, status)
