"""A client's connection on which procedures are called, one after the other."""

from __future__ import annotations

import asyncio
from collections import deque

from sim_instruments.faults import UNHARMED, Effect
from sim_instruments.wires.place import Place
from sim_instruments.wires.queued_stream import QueuedStream
from sim_instruments.wires.rpc.errors import RpcError
from sim_instruments.wires.rpc.messages import parse_call
from sim_instruments.wires.rpc.program import Program
from sim_instruments.wires.rpc.records import RecordReader, mark_record


class RpcStream(QueuedStream):
    """Runs the calls of one connection. What is no call ends the connection.

    A call that waits holds up those after it, but on this connection only. What a client sent
    before it went is still executed; then it waits for nothing.

    Args:
        place: the instrument.
    """

    def __init__(self, place: Place) -> None:
        super().__init__([place])
        self._place = place
        self._reader = RecordReader()
        self._records: deque[bytes] = deque()
        self._caller: asyncio.Task[None] | None = None
        self._is_over = False
        self._is_released = False

    def program(self) -> Program:
        """Give what can be called here."""
        raise NotImplementedError

    def take_effect(self) -> Effect:
        """Give which faults strike the reply to the call that has just been run."""
        return UNHARMED

    def hang_up(self) -> None:
        """Let no call wait any longer."""

    def release(self) -> None:
        """Let go of what the client held; called once, after its last call."""

    def received(self, chunk: bytes) -> None:
        """Run the calls that have come."""
        try:
            for record in self._reader.feed(chunk):
                self._records.append(record)
                self.hold(len(record))
        except RpcError:
            self._finish()
        if self._records and self._caller is None:
            self._caller = asyncio.get_running_loop().create_task(self._run_calls())

    def finished(self) -> None:
        """Come to an end, as nobody waits for anything any longer."""
        self._finish()

    def lost(self) -> None:
        """Come to an end, as nobody waits for anything any longer."""
        self._finish()

    def _finish(self) -> None:
        if not self._is_over:
            self._is_over = True
            self.hang_up()
        if not self._records and self._caller is None:
            self._end()

    async def _run_calls(self) -> None:
        program = self.program()
        try:
            while self._records and not self.is_closing:
                record = self._records.popleft()
                self.hold(-len(record))
                reply = await program.run(parse_call(record))
                self.push(mark_record(reply), self.take_effect())
                await self.until_proceeding()
        except RpcError:
            self._records.clear()
            self._is_over = True
        finally:
            self._caller = None
            if self.is_closing:
                self._records.clear()
            if self._is_over:
                self._end()

    def _end(self) -> None:
        self.close()
        if not self._is_released:
            self._is_released = True
            self.release()
