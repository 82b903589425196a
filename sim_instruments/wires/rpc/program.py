"""A program: which procedures can be called, and what is answered when one cannot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from sim_instruments.wires.rpc.errors import GarbageArguments
from sim_instruments.wires.rpc.messages import (
    RPC_VERSION,
    Call,
    reply_garbage_arguments,
    reply_procedure_unavailable,
    reply_program_mismatch,
    reply_program_unavailable,
    reply_rpc_mismatch,
    reply_success,
)
from sim_instruments.wires.rpc.xdr import XdrReader

Procedure = Callable[[XdrReader], Awaitable[bytes]]
"""Arguments to encoded results; it raises `GarbageArguments` when it cannot read them."""

NULL_PROCEDURE = 0


@dataclass(frozen=True, slots=True)
class Program:
    """The procedures behind one program number.

    Attributes:
        number: the program's.
        version: the only version there is.
        procedures: by number, without the null procedure that every program has.
    """

    number: int
    version: int
    procedures: Mapping[int, Procedure]

    async def run(self, call: Call) -> bytes:
        """Run a call and give the reply message, whatever the call asks for."""
        refusal = self._refuse(call)
        if refusal is not None:
            return refusal
        if call.procedure == NULL_PROCEDURE:
            return reply_success(call.xid, b"")
        try:
            return reply_success(call.xid, await self.procedures[call.procedure](call.arguments))
        except GarbageArguments:
            return reply_garbage_arguments(call.xid)

    def _refuse(self, call: Call) -> bytes | None:
        if call.rpc_version != RPC_VERSION:
            return reply_rpc_mismatch(call.xid)
        if call.program != self.number:
            return reply_program_unavailable(call.xid)
        if call.version != self.version:
            return reply_program_mismatch(call.xid, self.version)
        if call.procedure != NULL_PROCEDURE and call.procedure not in self.procedures:
            return reply_procedure_unavailable(call.xid)
        return None
