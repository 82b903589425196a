"""Background polls and watches, as a test holds them."""

import asyncio
import logging
import math
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from pytest_safetyq.bench.client.bench import Bench
from pytest_safetyq.bench.client.mailbox import Mailbox
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.bench.wire.failures import exception_for
from pytest_safetyq.errors import LinkLost

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here

log = logging.getLogger("pytest_safetyq.bench")

Callback = Callable[[str], object]

MOST_WAITING = 1024
"""How many replies wait for the callback of a poll; of a watch only the newest does."""


class Stream:
    """A command that is sent again and again, until the ``with`` block ends.

    Replies are handed on in a thread of their own, one after the other. An exception in a
    callback ends the stream, trips the bench, and is raised at the end of the block.

    Args:
        bench: The bench.
        instrument: The instrument's name.
        command: The command.
        every_s: Seconds from one to the next; turns that are missed are left out.
        deliver: What is done with each reply.
        vital: Whether a stream that fails trips the bench, and only its newest reply counts:
            a watch that is blind must not leave the output on, nor judge an old reading late.

    Attributes:
        count: How many replies were handed on.
        latest: The latest reply that was handed on, or None.
        tripped: Whether the stream has tripped the bench.
    """

    def __init__(
        self,
        bench: Bench,
        instrument: str,
        command: str,
        every_s: float,
        deliver: Callback,
        *,
        vital: bool = False,
    ) -> None:
        if not 0 < every_s < math.inf:
            raise ValueError(f"every_s must be a positive number of seconds, not {every_s!r}")
        self._bench = bench
        self._instrument = instrument
        self._command = command
        self._every_s = every_s
        self._deliver = deliver
        self._vital = vital
        self._mailbox = Mailbox(1 if vital else MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._number = 0
        self._error: BaseException | None = None
        self.count = 0
        self.latest: str | None = None
        self.tripped = False

    @property
    def skipped(self) -> int:
        """How many replies made way for newer ones, as the callback was slow."""
        return self._mailbox.skipped

    def start(self) -> None:
        """Start the stream."""
        if self._thread is not None:
            raise RuntimeError("the stream was started before; make a new one")
        connection = self._bench.connection
        self._number = connection.number()
        connection.on_stream(self._number, self._mailbox.put)
        self._thread = threading.Thread(
            target=self._hand_on, name=f"safetyq poll {self._command}", daemon=True
        )
        self._thread.start()
        connection.request(
            m.StartStream(
                id=self._number,
                instrument=self._instrument,
                command=self._command,
                every_s=self._every_s,
            )
        )

    def stop(self) -> None:
        """Stop the stream; whatever has come by now is handed on first.

        Raises:
            Exception: What a callback raised, or why the stream has failed.
        """
        connection = self._bench.connection
        try:
            if connection.lost is None:
                stopping = m.StopStream(id=connection.number(), stream=self._number)
                connection.ask(stopping, type(None))
        finally:
            connection.off_stream(self._number)
            self._mailbox.close()
            if self._thread is not None and self._thread is not threading.current_thread():
                self._thread.join()
        if self.skipped and not self._vital:
            log.warning(
                "%s: poll %s: %d replies were skipped, as the callback was slow",
                self._instrument,
                self._command,
                self.skipped,
            )
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def trip(self, reason: str) -> None:
        """Trip the bench."""
        self.tripped = True
        self._bench.estop(reason)

    def _hand_on(self) -> None:
        while (message := self._mailbox.get()) is not None:
            if message.error is not None:
                error = exception_for(message.kind, self._told(message.error))
                self._end(error, trips=self._vital)
                return
            try:
                self.count += 1
                self.latest = message.reply
                self._deliver(message.reply)
            except BaseException as error:  # noqa: BLE001 - raised again where the block ends
                self._end(error, trips=True)
                return

    def _told(self, error: str) -> str:
        return f"{self._instrument}: poll {self._command}: {error}"

    def _end(self, error: BaseException, *, trips: bool) -> None:
        self._error = error
        if trips and self._bench.lost is None:
            try:
                self.trip(f"poll {self._command} failed: {error!r}")
            except LinkLost as lost:
                error.add_note(f"and the bench could not be tripped: {lost}")


class PollStream(Stream):
    """A `Stream` for ``with``."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


class AsyncPollStream(Stream):
    """A `Stream` for ``async with``."""

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.stop)


def watching(stream_of: Callable[[], Stream], trip_when: Callable[[str], Any]) -> Callback:
    """Return what a watch does with each reply: trip when ``trip_when`` says so.

    Args:
        stream_of: Returns the stream, which doesn't exist yet when this is called.
        trip_when: Is given the reply; a true result trips.
    """

    def deliver(reply: str) -> None:
        if trip_when(reply):
            stream_of().trip(f"watch: {reply.strip()}")

    return deliver


def in_loop(loop: asyncio.AbstractEventLoop, callback: Callback) -> Callback:
    """Return a callback that runs ``callback`` in ``loop`` and raises what it raises."""

    async def call(reply: str) -> None:
        callback(reply)

    def deliver(reply: str) -> None:
        asyncio.run_coroutine_threadsafe(call(reply), loop).result()

    return deliver


def ignore(reply: str) -> None:
    """Do nothing with a reply: the poll itself is what was wanted."""
