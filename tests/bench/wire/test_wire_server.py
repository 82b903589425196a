"""The server in this process, with its times shortened: who never speaks, and who never comes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench.endpoint import listening
from pytest_safetyq.bench.supervisor import outbox
from pytest_safetyq.bench.supervisor import server as server_module
from pytest_safetyq.bench.supervisor.server import Server
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.bench.wire.framing import RECEIVE_BYTES, encode, parser_for_client


class Running:
    """A server that listens."""

    def __init__(self, endpoint: endpoints.Endpoint) -> None:
        self.endpoint = endpoint
        self.said: list[str] = []
        self._writers: list[asyncio.StreamWriter] = []
        self.server = Server(endpoint, self.said.append)
        self.finished = asyncio.ensure_future(self.server.run_until_finished())

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        assert self.endpoint.unix_path is not None
        reader, writer = await asyncio.open_unix_connection(self.endpoint.unix_path)
        self._writers.append(writer)
        return reader, writer

    async def close(self) -> None:
        """Close every connection that was made."""
        for writer in self._writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def enter(
        self, *, guest: bool = False
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await self.connect()
        hello = m.Hello(
            id=0, token=self.endpoint.token, protocol=m.PROTOCOL, who="the test", guest=guest
        )
        writer.write(encode(hello))
        parser = parser_for_client()
        parser.feed(await reader.read(RECEIVE_BYTES))
        assert parser.next_message() == m.Done(id=0)
        return reader, writer


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAFETYQ_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(server_module, "HELLO_TIMEOUT_S", 0.1)
    monkeypatch.setattr(server_module, "FIRST_CLIENT_TIMEOUT_S", 0.3)


@pytest.fixture
async def running(private: None) -> AsyncIterator[Running]:
    del private
    with listening() as found:
        found.socket.setblocking(False)
        running = Running(found.endpoint)
        async with await asyncio.start_unix_server(running.server.serve, sock=found.socket):
            yield running
            await running.close()
            running.server.finish()
            async with asyncio.timeout(10):
                await running.finished


async def test_who_says_nothing_is_sent_away(running: Running) -> None:
    _, client = await running.enter()
    began_s = time.monotonic()
    reader, stranger = await running.connect()
    stranger.write(b"\x00\x00")
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    assert time.monotonic() - began_s >= 0.09
    assert running.said == ["safetyq: a connection was refused: TimeoutError"]
    assert not running.finished.done()
    client.close()
    stranger.close()


async def test_who_drips_bytes_is_sent_away(running: Running) -> None:
    """The time is that of the whole hello, not of each byte."""
    _, client = await running.enter()
    reader, stranger = await running.connect()

    async def drip() -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                stranger.write(b"\x00")
                await stranger.drain()
                await asyncio.sleep(0.04)

    dripping = asyncio.ensure_future(drip())
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(10):
            assert await reader.read() == b""
    dripping.cancel()
    assert len(running.said) == 1
    client.close()
    stranger.close()


async def test_it_ends_by_itself_when_nobody_comes(running: Running) -> None:
    async with asyncio.timeout(10):
        await asyncio.shield(running.finished)


async def test_strangers_and_guests_do_not_keep_it(running: Running) -> None:
    reader, guest = await running.enter(guest=True)
    _, stranger = await running.connect()
    async with asyncio.timeout(10):
        await asyncio.shield(running.finished)
        assert await reader.read() == b""
    guest.close()
    stranger.close()


async def test_it_stays_while_a_client_is_there_and_ends_with_it(running: Running) -> None:
    _, first = await running.enter()
    _, second = await running.enter()
    first.close()
    running.server._finish_if_alone()  # what happens when nobody has come in time
    assert not running.finished.done()
    second.close()
    async with asyncio.timeout(10):
        await asyncio.shield(running.finished)


async def test_the_alarm_of_an_empty_bench_is_silent(running: Running) -> None:
    _, client = await running.enter()
    client.close()
    async with asyncio.timeout(10):
        await asyncio.shield(running.finished)
    assert running.said == []


async def test_a_client_that_does_not_read_counts_as_dead(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MAX_UNREAD_BYTES", 10_000)
    _, client = await running.enter()
    peer = client.get_extra_info("socket")
    assert isinstance(peer, object)
    client.transport.pause_reading()  # type: ignore[attr-defined]
    number = 0
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(10):
            while not running.finished.done():
                for _ in range(200):
                    number += 1
                    client.write(encode(m.State(id=number, instrument="x" * 1000)))
                await client.drain()
                await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await asyncio.shield(running.finished)
    client.close()


async def test_an_unexpected_failure_of_a_conversation_is_the_alarm(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends the conversation, it is judged: the client has no goodbye to its name."""
    alarms: list[str] = []

    async def alarm(reason: str) -> None:
        alarms.append(reason)

    def take(session: object, message: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(running.server, "alarm", alarm)
    monkeypatch.setattr("pytest_safetyq.bench.supervisor.session.Session.take", take)
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    reader, client = await running.enter()
    client.write(encode(m.State(id=1, instrument="smu")))
    async with asyncio.timeout(10):
        assert await reader.read() == b""
        await asyncio.shield(running.finished)
    assert len(alarms) == 1
    client.close()


def test_a_listener_of_either_kind(private: None, monkeypatch: pytest.MonkeyPatch) -> None:
    del private
    monkeypatch.setattr(endpoints, "HAS_UNIX_SOCKETS", False)
    with listening() as found:
        endpoint = found.endpoint
        assert endpoint.unix_path is None
        assert found.socket.getsockname() == ("127.0.0.1", endpoint.port)
        with endpoint.connect(1.0) as connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
