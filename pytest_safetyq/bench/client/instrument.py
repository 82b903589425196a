"""`Instrument`: the blocking handle, in PyVISA's words."""

import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Any

from pytest_safetyq.bench.client.answer import Answer
from pytest_safetyq.bench.client.futures import TextReply
from pytest_safetyq.bench.client.handle import Handle, text_of
from pytest_safetyq.bench.client.streams import Callback, PollStream, ignore, watching
from pytest_safetyq.bench.client.values import (
    BinaryHeader,
    Container,
    ascii_values,
    binary_values,
)
from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.scheduling import Priority

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here


class Instrument(Handle):
    """An open instrument. Every method can be called from any thread.

    All methods that send raise `EStopLatched` while the instrument is tripped (unless the
    priority is SAFETY), `BacklogFull` when its queue is full, `LimitExceeded` when the bench
    file forbids a set-point, `TransactionTimeout` when the budget of the transaction ran
    out, and `LinkLost` when the instrument or the supervisor is gone. ``timeout_s`` is the
    budget of the transaction on the wire, in seconds; None: the instrument's own.
    """

    __slots__ = ()

    def write(
        self,
        command: str,
        *,
        priority: Priority = Priority.CONTROL,
        timeout_s: float | None = None,
    ) -> None:
        """Send ``command`` and wait until it is written.

        If it asks a question, the reply is read and dropped: it must not answer the next one.
        """
        self._wait(self._begin(command, priority, timeout_s))

    def query(
        self,
        command: str,
        *,
        priority: Priority = Priority.QUERY,
        timeout_s: float | None = None,
    ) -> str:
        """Send ``command`` and return the reply, without its terminator."""
        return text_of(self._wait(self._begin(command, priority, timeout_s, expect_reply=True)))

    def query_ascii_values(
        self,
        command: str,
        *,
        converter: str | Callable[[str], Any] = "f",
        separator: str = ",",
        container: Container = list,
        priority: Priority = Priority.QUERY,
        timeout_s: float | None = None,
    ) -> Sequence[Any]:
        """Return the reply as a container of values, as PyVISA's method of this name does.

        Args:
            command: The query.
            converter: A format code such as ``f``, ``d``, ``x``, or a callable.
            separator: What separates the values.
            container: What the values are put in.
            priority: How urgent it is.
            timeout_s: The budget.

        Raises:
            ValueError: The reply is something else.
        """
        reply = self.query(command, priority=priority, timeout_s=timeout_s)
        return ascii_values(reply, converter, separator, container)

    def query_binary_values(
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
        """Return the values of a binary block, as PyVISA's method of this name does.

        Args:
            command: The query.
            datatype: A format character of the `struct` module.
            is_big_endian: Whether the most significant byte comes first.
            container: What the values are put in.
            header_fmt: ``ieee`` (IEEE 488.2, 8.7.9), ``hp`` or ``empty``.
            priority: How urgent it is.
            timeout_s: The budget.

        Raises:
            ValueError: The reply is no such block.
        """
        reply = self._wait(self._begin_block(command, priority, timeout_s))
        return binary_values(reply, datatype, is_big_endian, container, header_fmt)

    def write_raw(
        self,
        payload: bytes,
        *,
        priority: Priority = Priority.CONTROL,
        timeout_s: float | None = None,
    ) -> None:
        """Send ``payload`` exactly as it is, a terminator included if it needs one."""
        self._wait(self._begin(payload, priority, timeout_s, raw=True))

    def query_raw(
        self,
        payload: bytes,
        *,
        priority: Priority = Priority.QUERY,
        timeout_s: float | None = None,
    ) -> bytes:
        """Send ``payload`` exactly as it is, and return the reply with its terminator."""
        return self._wait(self._begin(payload, priority, timeout_s, expect_reply=True, raw=True))

    def submit(
        self, command: str, *, priority: Priority, timeout_s: float | None = None
    ) -> "concurrent.futures.Future[str]":
        """Enqueue ``command`` and return a future of its reply, ``""`` if it asks nothing.

        A SAFETY command that repeats one that is waiting, in flight or just done is
        coalesced with it.
        """
        answer = self._begin(command, priority, timeout_s)
        self._bench.connection.wait_until_admitted(answer)
        return TextReply(answer)

    def poll(self, command: str, *, every_s: float, callback: Callback | None = None) -> PollStream:
        """Return a background stream of ``command`` at POLL priority, for ``with``.

        Args:
            command: The query.
            every_s: Seconds from one to the next.
            callback: Is given each reply, in a thread of the stream.
        """
        return PollStream(self._bench, self.name, command, every_s, callback or ignore)

    def watch(self, command: str, *, every_s: float, trip_when: Callable[[str], Any]) -> PollStream:
        """Return a background stream that trips the bench when ``trip_when(reply)`` is true.

        A watch that fails, or whose ``trip_when`` raises, trips too.
        """
        deliver = watching(lambda: stream, trip_when)
        stream = PollStream(self._bench, self.name, command, every_s, deliver, vital=True)
        return stream

    def estop(self, reason: str = "") -> EStopReport:
        """Drive the bench to its safe state, latch it, and report on this instrument.

        The instruments of a bench trip together. The report says whether "off" was read
        back; it doesn't raise if not.
        """
        return self._bench.estop(reason or "estop() was called").by_instrument[self.name]

    def _wait(self, answer: Answer) -> bytes:
        return bytes(self._bench.connection.wait(answer))
