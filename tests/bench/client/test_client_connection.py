"""The connection itself: futures that end once, and supervisors that don't answer."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock
import pytest
from bench_rig import Rig, bounded

from pytest_safetyq import LinkLost
from pytest_safetyq.bench import commands
from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench.client import answer as client_answer
from pytest_safetyq.bench.client.answer import Answer
from pytest_safetyq.bench.client.connection import Connection
from pytest_safetyq.bench.endpoint import Endpoint
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.bench.wire.framing import RECEIVE_BYTES, encode, parser_for_supervisor

FIRST = LinkLost("first")


@pytest.mark.parametrize(
    "end",
    [
        lambda answer: answer.fail(FIRST),
        lambda answer: answer.succeed("first"),
        lambda answer: answer.cancel(),
        lambda answer: answer.admitted.cancel(),
    ],
    ids=["failed", "succeeded", "cancelled", "nobody waits for its admission"],
)
@pytest.mark.parametrize(
    "again",
    [lambda answer: answer.fail(LinkLost("second")), lambda answer: answer.succeed("second")],
    ids=["fails", "succeeds"],
)
def test_an_answer_ends_once(
    end: Callable[[Answer], object], again: Callable[[Answer], object]
) -> None:
    """Whoever is second does nothing: two threads may end one answer at the same time."""
    answer = Answer()
    end(answer)
    ended = answer.done()
    again(answer)
    again(answer)
    assert answer.done()
    if ended and not answer.cancelled():
        error = answer.exception(0)
        assert error is FIRST if error is not None else answer.result(0) == "first"


def test_a_cancelled_answer_wakes_who_waits_for_it(rig: Rig) -> None:
    answer = Answer()
    threading.Timer(0.05, answer.cancel).start()
    with pytest.raises(concurrent.futures.CancelledError):
        bounded(lambda: rig.bench.connection.wait(answer))


def test_nobody_listens(tmp_path: Path) -> None:
    endpoint = Endpoint(
        directory=str(tmp_path), token="t", pid=1, unix_path=str(tmp_path / "socket"), port=0
    )
    with pytest.raises(LinkLost, match="can't be reached"):
        Connection(endpoint, who="the test")


def test_a_wrong_token_is_let_out_at_once(rig: Rig) -> None:
    import msgspec

    stranger = msgspec.structs.replace(rig.endpoint, token="wrong")
    with pytest.raises(LinkLost):
        Connection(stranger, who="a stranger")
    assert rig.smu.query(":OUTP?") == "0"
    assert not rig.smu.latched


def test_a_supervisor_that_does_not_answer_is_lost(
    own: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_answer, "ANSWER_TIMEOUT_S", 0.2)
    own.kill(signal.SIGSTOP)
    try:
        with pytest.raises(LinkLost):
            Connection(own.endpoint, who="the test", guest=True)
    finally:
        own.kill(signal.SIGCONT)


def test_an_estop_that_is_not_answered_is_lost(own: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_answer, "ANSWER_TIMEOUT_S", 0.2)
    own.kill(signal.SIGSTOP)
    try:
        with pytest.raises(LinkLost, match="does not answer: the E-stop was not answered in"):
            own.safety.estop()
    finally:
        own.kill(signal.SIGCONT)


class FakeSupervisor:
    """Lets everybody in, and ends the connection at the first request."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        path = str(directory / "socket")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        endpoint = Endpoint(
            directory=str(directory), token="t", pid=os.getpid(), unix_path=path, port=0
        )
        self._alive = filelock.FileLock(directory / "alive.lock")
        self._alive.acquire()
        endpoints._publish(endpoint)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer:
                parser = parser_for_supervisor()
                while (hello := parser.next_message()) is None:
                    parser.feed(peer.recv(RECEIVE_BYTES))
                assert isinstance(hello, m.Hello)
                peer.sendall(encode(m.Done(id=hello.id)))
                peer.recv(RECEIVE_BYTES)

    def close(self) -> None:
        self._alive.release()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def broken(own: Rig) -> Iterator[FakeSupervisor]:
    """A supervisor that is found before the one of the bench, and breaks."""
    fake = FakeSupervisor(own.directory.parent / "run-!")
    yield fake
    fake.close()


def test_the_estop_reaches_a_supervisor_behind_one_that_breaks(
    own: Rig, broken: FakeSupervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    del broken
    monkeypatch.setenv("SAFETYQ_RUNTIME_DIR", str(own.runtime_dir))
    own.smu.write(":OUTP ON")
    verdicts = list(commands.estop_lines(()))
    assert [good for _, good in verdicts].count(False) == 1
    assert not own.is_on
    assert own.smu.latched


def test_the_estop_reaches_a_supervisor_behind_one_that_is_frozen(
    own: Rig, start: Callable[[], Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    import msgspec

    monkeypatch.setattr(client_answer, "ANSWER_TIMEOUT_S", 2.0)
    monkeypatch.setenv("SAFETYQ_RUNTIME_DIR", str(own.runtime_dir))
    frozen = start()
    first = own.directory.parent / "run-!"
    first.mkdir()
    alive = filelock.FileLock(first / "alive.lock")
    alive.acquire()
    endpoints._publish(msgspec.structs.replace(frozen.endpoint, directory=str(first)))
    own.smu.write(":OUTP ON")
    frozen.kill(signal.SIGSTOP)
    try:
        verdicts = list(commands.estop_lines(()))
    finally:
        frozen.kill(signal.SIGCONT)
    assert [good for _, good in verdicts].count(False) == 1
    assert not own.is_on


def test_cancelling_an_answer_tells_the_supervisor_once(rig: Rig) -> None:
    with rig.held():
        answers = [rig.smu.submit("*CLS", priority=2) for _ in range(50)]  # type: ignore[arg-type]

        async def cancel() -> None:
            for answer in answers:
                assert answer.cancel()
                assert answer.cancel()

        asyncio.run(cancel())
    assert rig.smu.query(":OUTP?") == "0"
    assert all(answer.cancelled() for answer in answers)
    assert rig.dispatcher.pending == 0
