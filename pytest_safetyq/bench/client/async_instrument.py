"""`AsyncInstrument`: the handle for asyncio, in any event loop."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from pytest_safetyq.bench.client.answer import Answer
from pytest_safetyq.bench.client.bench import begin_estop
from pytest_safetyq.bench.client.connection import convert
from pytest_safetyq.bench.client.futures import TextReply, admitted, in_this_loop
from pytest_safetyq.bench.client.handle import Handle, text_of
from pytest_safetyq.bench.client.streams import AsyncPollStream, Callback, ignore, in_loop, watching
from pytest_safetyq.bench.client.values import (
    BinaryHeader,
    Container,
    ascii_values,
    binary_values,
)
from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.scheduling import Priority

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here


class AsyncInstrument(Handle):
    """An open instrument, for ``await``; names and meanings are those of `Instrument`.

    It belongs to no event loop: each call completes in the loop that awaits it, so it works
    in whatever loop scope a test runs.
    """

    __slots__ = ()

    async def write(
        self,
        command: str,
        *,
        priority: Priority = Priority.CONTROL,
        timeout_s: float | None = None,
    ) -> None:
        """Send ``command`` and wait until it is written; see `Instrument.write`."""
        await _reply(self._begin(command, priority, timeout_s))

    async def query(
        self,
        command: str,
        *,
        priority: Priority = Priority.QUERY,
        timeout_s: float | None = None,
    ) -> str:
        """Send ``command`` and return the reply, without its terminator."""
        return text_of(await _reply(self._begin(command, priority, timeout_s, expect_reply=True)))

    async def query_ascii_values(
        self,
        command: str,
        *,
        converter: str | Callable[[str], Any] = "f",
        separator: str = ",",
        container: Container = list,
        priority: Priority = Priority.QUERY,
        timeout_s: float | None = None,
    ) -> Sequence[Any]:
        """Return the reply as values; see `Instrument.query_ascii_values`."""
        reply = await self.query(command, priority=priority, timeout_s=timeout_s)
        return ascii_values(reply, converter, separator, container)

    async def query_binary_values(
        self,
        command: str,
        *,
        datatype: str = "f",
        is_big_endian: bool = False,
        container: Container = list,
        header_fmt: BinaryHeader = "ieee",
        priority: Priority = Priority.QUERY,
        timeout_s: float | None = None,
    ) -> Sequence[Any]:
        """Return the values of a binary block; see `Instrument.query_binary_values`."""
        reply = await _reply(self._begin_block(command, priority, timeout_s))
        return binary_values(reply, datatype, is_big_endian, container, header_fmt)

    async def write_raw(
        self,
        payload: bytes,
        *,
        priority: Priority = Priority.CONTROL,
        timeout_s: float | None = None,
    ) -> None:
        """Send ``payload`` exactly as it is, a terminator included if it needs one."""
        await _reply(self._begin(payload, priority, timeout_s, raw=True))

    async def query_raw(
        self,
        payload: bytes,
        *,
        priority: Priority = Priority.QUERY,
        timeout_s: float | None = None,
    ) -> bytes:
        """Send ``payload`` exactly as it is, and return the reply with its terminator."""
        return await _reply(self._begin(payload, priority, timeout_s, expect_reply=True, raw=True))

    async def submit(
        self, command: str, *, priority: Priority, timeout_s: float | None = None
    ) -> asyncio.Future[str]:
        """Enqueue ``command`` and return a future of its reply; see `Instrument.submit`."""
        answer = self._begin(command, priority, timeout_s)
        await admitted(answer)
        return in_this_loop(TextReply(answer))

    def poll(
        self, command: str, *, every_s: float, callback: Callback | None = None
    ) -> AsyncPollStream:
        """Return a background stream of ``command`` at POLL priority, for ``async with``.

        Args:
            command: The query.
            every_s: Seconds from one to the next.
            callback: Is given each reply, in the event loop that calls this method.
        """
        deliver: Callback = ignore
        if callback is not None:
            deliver = in_loop(asyncio.get_running_loop(), callback)
        return AsyncPollStream(self._bench, self.name, command, every_s, deliver)

    def watch(
        self, command: str, *, every_s: float, trip_when: Callable[[str], Any]
    ) -> AsyncPollStream:
        """Return a background stream that trips the bench when ``trip_when(reply)`` is true.

        ``trip_when`` runs in a thread of the stream and not in the event loop: a test that
        blocks its loop must not blind the watch.
        """
        deliver = watching(lambda: stream, trip_when)
        stream = AsyncPollStream(self._bench, self.name, command, every_s, deliver, vital=True)
        return stream

    async def estop(self, reason: str = "") -> EStopReport:
        """Drive the bench to its safe state; see `Instrument.estop`."""
        answer = begin_estop(self._bench.connection, reason or "estop() was called")
        report = convert(await asyncio.shield(asyncio.wrap_future(answer)), EStopReport)
        return report.by_instrument[self.name]


async def _reply(answer: Answer) -> bytes:
    return bytes(await asyncio.wrap_future(answer))
