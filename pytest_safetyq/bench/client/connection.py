"""The connection to the supervisor: requests out, answers in, from any thread.

Requests are written by whoever makes them, so that nothing stands between an E-stop and
the socket; one daemon thread reads the answers and completes their futures. It also sees to it
that each future ends: a supervisor that is stopped, or whose driver holds the interpreter,
must not hang the run.
"""

import concurrent.futures
import contextlib
import itertools
import os
import selectors
import socket
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from pytest_safetyq.bench.client.answer import Answer
from pytest_safetyq.bench.endpoint import Endpoint
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.bench.wire.failures import exception_for
from pytest_safetyq.bench.wire.framing import (
    RECEIVE_BYTES,
    FrameError,
    FrameParser,
    encode_for_supervisor,
    parser_for_client,
)
from pytest_safetyq.errors import LinkLost

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here

T = TypeVar("T")

CONNECT_TIMEOUT_S = 5.0
SEND_TIMEOUT_S = 5.0
"""Seconds in which a message must be taken; a supervisor that lives reads at once."""

LOOK_EVERY_S = 0.25
"""Seconds from one look at what is overdue to the next."""


class Connection:
    """Speaks with one supervisor.

    Args:
        endpoint: Where it listens.
        who: Who this is, for its messages.
        guest: Whether the end of this connection is no alarm.

    Raises:
        LinkLost: Nobody listens, or it doesn't let us in.
    """

    def __init__(self, endpoint: Endpoint, *, who: str, guest: bool = False) -> None:
        self._numbers = itertools.count(1)
        self._writing = threading.Lock()
        self._open: dict[int, Answer] = {}
        self._streams: dict[int, Callable[[m.StreamReply], None]] = {}
        self._lost: str | None = None
        self._closing = False
        self._supervisor = f"the supervisor (process {endpoint.pid})"
        try:
            self._socket = endpoint.connect(CONNECT_TIMEOUT_S)
        except OSError as error:
            raise LinkLost(f"{self._supervisor} can't be reached: {error}") from error
        self._socket.settimeout(SEND_TIMEOUT_S)
        _live.add(self)
        self._reader = threading.Thread(target=self._read, name="safetyq client", daemon=True)
        self._reader.start()
        hello = m.Hello(id=0, token=endpoint.token, protocol=m.PROTOCOL, who=who, guest=guest)
        try:
            self.wait(self.request(hello))
        except BaseException:
            self.close()
            raise

    @property
    def lost(self) -> str | None:
        """Why the connection has ended although nobody closed it; None: it hasn't."""
        return None if self._closing else self._lost

    def number(self) -> int:
        """Return a number for the next request."""
        return next(self._numbers)

    def request(
        self, request: m.Request, *, what: str = "", queued_s: float | None = None
    ) -> Answer:
        """Send ``request`` and return the future of its answer, which always ends.

        Cancelling the future tells the supervisor that nobody waits any more.

        Args:
            request: The request.
            what: What it asks for, for messages.
            queued_s: Seconds that it takes at the worst when those before it are done; None:
                it is answered or acknowledged at once.
        """
        answer = Answer(what or type(request).__name__)
        if queued_s is not None:
            answer.queued(queued_s)
        self._open[request.id] = answer
        answer.add_done_callback(lambda a: self._done(request.id, a))
        try:
            self.send(request)
        except (LinkLost, TypeError, ValueError) as error:
            answer.fail(error)
        return answer

    def ask(self, request: m.Request, kind: type[T]) -> T:
        """Send ``request`` and return its answer as ``kind``.

        Raises:
            SafetyError: It failed.
            LinkLost: The supervisor is gone, or doesn't answer.
        """
        return convert(self.wait(self.request(request)), kind)

    def wait(self, answer: Answer) -> Any:
        """Return the value of ``answer``, or raise what it failed with.

        Raises:
            RuntimeError: This is the thread that reads the answers.
        """
        self._refuse_reader()
        try:
            concurrent.futures.wait([answer])
        except BaseException:
            answer.cancel()  # Ctrl-C: what still waits is not wanted any more
            raise
        if (error := answer.exception()) is not None:
            raise error.with_traceback(None)
        return answer.result()

    def wait_until_admitted(self, answer: Answer) -> None:
        """Return when the supervisor has accepted the request, or raise why it hasn't."""
        self._refuse_reader()
        answer.admitted.result()

    def _refuse_reader(self) -> None:
        if threading.current_thread() is self._reader:
            raise RuntimeError(
                "a callback of a future runs where the answers are read, so it can't wait for"
                " one; hand the work to another thread"
            )

    def send(self, message: m.Message) -> None:
        """Send a message.

        Raises:
            LinkLost: The connection has ended, or the supervisor takes nothing any more.
            TypeError: A field of it is of another type; nothing was sent.
            ValueError: It is too long; nothing was sent.
        """
        frame = encode_for_supervisor(message)
        if self._lost is not None:  # also before the lock, which a fork may have caught locked
            raise LinkLost(self._lost)
        try:
            with self._writing:
                if self._lost is not None:
                    raise LinkLost(self._lost)
                self._socket.sendall(frame)
        except TimeoutError:
            # Cut short in a message, there is no way to go on. When the supervisor comes to
            # itself, it finds the end of the connection, which is the alarm.
            self._end(f"{self._supervisor} does not answer: it takes no message any more")
            raise LinkLost(self._lost) from None
        except LinkLost:
            raise
        except OSError as error:
            raise LinkLost(f"{self._supervisor} can't be reached: {error}") from error

    def on_stream(self, number: int, deliver: Callable[[m.StreamReply], None]) -> None:
        """Call ``deliver``, in the reading thread, with what comes of the stream ``number``."""
        self._streams[number] = deliver

    def off_stream(self, number: int) -> None:
        """End that."""
        self._streams.pop(number, None)

    def close(self) -> None:
        """End the connection."""
        self._closing = True
        self._shut()
        if self._reader is not threading.current_thread():
            self._reader.join(CONNECT_TIMEOUT_S)
        self._socket.close()
        _live.discard(self)

    def _shut(self) -> None:
        with contextlib.suppress(OSError):  # the other end has closed it already
            self._socket.shutdown(socket.SHUT_RDWR)

    def disown(self) -> None:
        """Close a forked child's copy: only the parent's end may keep the bench armed."""
        self._closing = True
        self._lost = "the bench belongs to the process that opened it, not to its forks"
        self._socket.close()

    def _done(self, number: int, answer: concurrent.futures.Future[Any]) -> None:
        self._open.pop(number, None)
        if answer.cancelled() and self._lost is None:
            with contextlib.suppress(LinkLost):  # with the connection all of ours ends anyway
                self.send(m.Cancel(id=number))

    def _read(self) -> None:
        parser = parser_for_client()
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._socket, selectors.EVENT_READ)
                self._read_from(selector, parser)
        except (OSError, EOFError, FrameError) as error:
            self._end(f"the connection to the supervisor is lost: {error}")

    def _read_from(self, selector: selectors.BaseSelector, parser: FrameParser[m.ToClient]) -> None:
        looked_s = time.monotonic()
        while True:
            if selector.select(LOOK_EVERY_S):
                chunk = self._socket.recv(RECEIVE_BYTES)
                if not chunk:
                    raise EOFError("it has ended")
                parser.feed(chunk)
                while (message := parser.next_message()) is not None:
                    self._take(message)
            # What has come is read first: this process may have been stopped itself.
            if time.monotonic() - looked_s >= LOOK_EVERY_S and not selector.select(0):
                self._look_for_overdue()
                looked_s = time.monotonic()

    def _look_for_overdue(self) -> None:
        now = time.monotonic()
        overdue = [answer for answer in list(self._open.values()) if answer.due_s < now]
        waiting = [answer for answer in overdue if answer.waits_for_others]
        for answer in overdue:
            if not answer.waits_for_others:
                answer.fail(self._no_answer(answer))
        if waiting:
            self._ask_whether_it_lives(waiting)

    def _ask_whether_it_lives(self, waiting: list[Answer]) -> None:
        """Give those who wait for others more time, if the supervisor still answers."""
        for answer in waiting:
            answer.in_doubt()

        def judge(echo: concurrent.futures.Future[Any]) -> None:
            for answer in waiting:
                if echo.exception() is None:
                    answer.promised(None)
                else:
                    answer.fail(self._no_answer(answer))

        self.request(m.Echo(id=self.number())).add_done_callback(judge)

    def _no_answer(self, answer: Answer) -> LinkLost:
        waited_s = time.monotonic() - answer.asked_s
        return LinkLost(
            f"{self._supervisor} does not answer: {answer.what} was not answered in"
            f" {waited_s:.1f} s; whether the outputs are off is unknown"
        )

    def _take(self, message: m.ToClient) -> None:
        if isinstance(message, m.StreamReply):
            if (deliver := self._streams.get(message.stream)) is not None:
                deliver(message)
            return
        answer = self._open.get(message.id)
        if answer is None:
            return  # nobody waits for it any more
        match message:
            case m.Working(within_s=within_s):
                answer.promised(within_s)
            case m.Admitted() | m.JobGranted():
                answer.admit()
            case m.Done(value=value):
                answer.succeed(value)
            case m.Failed(kind="CancelledError"):
                answer.cancel()
            case m.Failed(kind=kind, message=text):
                answer.fail(exception_for(kind, text))

    def _end(self, reason: str) -> None:
        """End the connection because of ``reason``; the first reason counts."""
        if self._lost is None:
            self._lost = reason
        self._shut()
        for answer in list(self._open.values()):
            answer.fail(LinkLost(self._lost))
        for number, deliver in list(self._streams.items()):
            deliver(m.StreamReply(stream=number, kind="LinkLost", error=self._lost))


def convert(value: Any, kind: type[T]) -> T:
    """Return what came over the wire as ``kind``."""
    return msgspec.convert(value, kind)


_live: "weakref.WeakSet[Connection]" = weakref.WeakSet()


def _disown_all() -> None:
    for connection in list(_live):
        connection.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
