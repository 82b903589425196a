"""The connection to the supervisor: requests out, answers in, from any thread.

Requests are written by whoever makes them, so that nothing stands between an E-stop and
the socket; one daemon thread reads the answers and completes their futures.
"""

import concurrent.futures
import contextlib
import itertools
import os
import socket
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from pytest_safetyq.bench.endpoint import Endpoint
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.bench.wire.failures import exception_for
from pytest_safetyq.bench.wire.framing import (
    HEADER_BYTES,
    FrameError,
    body_length,
    decode_for_client,
    encode,
)
from pytest_safetyq.errors import LinkLost

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here

T = TypeVar("T")

CONNECT_TIMEOUT_S = 5.0


class Answer(concurrent.futures.Future[Any]):
    """The future of one request. It ends once, whoever ends it first, in any thread.

    Attributes:
        admitted: Done when the supervisor has accepted the request (commands and jobs); it
            fails with what the request fails with.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ending = threading.Lock()
        self._ended = False
        self.admitted: concurrent.futures.Future[None] = concurrent.futures.Future()

    def admit(self) -> None:
        """Note that the supervisor has accepted the request."""
        if not self.admitted.done() and self.admitted.set_running_or_notify_cancel():
            self.admitted.set_result(None)

    def cancel(self) -> bool:
        """End cancelled; whoever waits for it is woken."""
        if not self._first():
            return self.cancelled()
        super().cancel()
        self.set_running_or_notify_cancel()
        if self.admitted.cancel():
            self.admitted.set_running_or_notify_cancel()
        return True

    def fail(self, error: Exception) -> None:
        """End in ``error``."""
        if self._first():
            if not self.admitted.done() and self.admitted.set_running_or_notify_cancel():
                self.admitted.set_exception(error)
            self.set_exception(error)

    def succeed(self, value: Any) -> None:
        """End with ``value``."""
        if self._first():
            self.admit()
            self.set_result(value)

    def _first(self) -> bool:
        with self._ending:
            first, self._ended = not self._ended, True
        return first


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
        try:
            self._socket = endpoint.connect(CONNECT_TIMEOUT_S)
        except OSError as error:
            raise LinkLost(f"the supervisor can't be reached: {error}") from error
        _live.add(self)
        self._reader = threading.Thread(target=self._read, name="safetyq client", daemon=True)
        self._reader.start()
        hello = m.Hello(id=0, token=endpoint.token, protocol=m.PROTOCOL, who=who, guest=guest)
        try:
            self.wait(self.request(hello), CONNECT_TIMEOUT_S)
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

    def request(self, request: m.Request) -> Answer:
        """Send ``request`` and return the future of its answer.

        Cancelling the future tells the supervisor that nobody waits any more.
        """
        answer = Answer()
        self._open[request.id] = answer
        answer.add_done_callback(lambda a: self._done(request.id, a))
        try:
            self.send(request)
        except LinkLost as error:
            answer.fail(error)
        return answer

    def ask(self, request: m.Request, kind: type[T], timeout_s: float | None = None) -> T:
        """Send ``request`` and return its answer as ``kind``.

        Raises:
            SafetyError: It failed.
            LinkLost: There was no answer in ``timeout_s`` seconds.
        """
        return convert(self.wait(self.request(request), timeout_s), kind)

    @staticmethod
    def wait(answer: Answer, timeout_s: float | None = None) -> Any:
        """Return the value of ``answer``, or raise what it failed with.

        Raises:
            LinkLost: There was no answer in ``timeout_s`` seconds; None: wait for ever.
        """
        try:
            done, _ = concurrent.futures.wait([answer], timeout_s)
        except BaseException:
            answer.cancel()  # Ctrl-C: what still waits is not wanted any more
            raise
        if not done:
            raise LinkLost(f"the supervisor has not answered in {timeout_s:g} s")
        if (error := answer.exception()) is not None:
            raise error.with_traceback(None)
        return answer.result()

    @staticmethod
    def wait_until_admitted(answer: Answer) -> None:
        """Return when the supervisor has accepted the request, or raise why it hasn't."""
        answer.admitted.result()

    def send(self, message: m.Message) -> None:
        """Send a message.

        Raises:
            LinkLost: The connection has ended.
        """
        if self._lost is not None:
            raise LinkLost(self._lost)
        frame = encode(message)
        try:
            with self._writing:
                self._socket.sendall(frame)
        except OSError as error:
            raise LinkLost(f"the supervisor can't be reached: {error}") from error

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
        try:
            while True:
                length = body_length(self._receive(HEADER_BYTES))
                self._take(decode_for_client(self._receive(length)))
        except (OSError, EOFError, FrameError) as error:
            self._end(error)

    def _receive(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            chunk = self._socket.recv(length - len(received))
            if not chunk:
                raise EOFError("it has ended")
            received += chunk
        return bytes(received)

    def _take(self, message: m.ToClient) -> None:
        match message:
            case m.StreamReply(stream=stream):
                if (deliver := self._streams.get(stream)) is not None:
                    deliver(message)
            case m.Admitted(id=number) | m.JobGranted(id=number):
                if (answer := self._open.get(number)) is not None:
                    answer.admit()
            case m.Done(id=number, value=value):
                if (answer := self._open.get(number)) is not None:
                    answer.succeed(value)
            case m.Failed(id=number, kind="CancelledError"):
                if (answer := self._open.get(number)) is not None:
                    answer.cancel()
            case m.Failed(id=number, kind=kind, message=text):
                if (answer := self._open.get(number)) is not None:
                    answer.fail(exception_for(kind, text))

    def _end(self, error: Exception) -> None:
        self._lost = f"the connection to the supervisor is lost: {error}"
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
