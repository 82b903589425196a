"""Binary blocks over a real socket, where only the terminator ends a reply, or nothing does."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest

from pytest_safetyq import TransactionTimeout
from pytest_safetyq.bench.config import Profile
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.opening import open_instrument
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.links import RawBytes
from pytest_safetyq.scheduling import Priority

BLOCK = b"#212ABCD\nEFG\nHI\n"  # terminators inside are data

REPLIES = {
    b"*IDN?\n": b"ACME,SCOPE,1,1\n",
    b"CURV?\n": BLOCK,
    b"CURV:LF?\n": BLOCK + b"\n",
    b"EMPTY?\n": b"\n",
    b"HASH?\n": b"#H1F\n",
    b"NONE?\n": b"#10",
}


class Scope:
    """Answers on a socket, byte by byte as `REPLIES` says."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._peers: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer, peer.makefile("rb") as lines:
                for line in lines:
                    peer.sendall(REPLIES[line])

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


@pytest.fixture
def scope() -> Iterator[Scope]:
    scope = Scope()
    yield scope
    scope.close()


async def _opened(scope: Scope, *, block_terminator: bool) -> OwnedInstrument:
    spec = InstrumentSpec(
        name="scope",
        resource=f"TCPIP0::127.0.0.1::{scope.port}::SOCKET",
        library="@py",
        profile=Profile(off=(), block_terminator=block_terminator),
        timeout_s=0.5,
    )
    return await open_instrument(spec)


async def _ask(scope: OwnedInstrument, query: bytes) -> bytes:
    return await scope.submit("q", RawBytes(query), Priority.QUERY, raw=True)


async def test_a_block_without_a_terminator_is_read_to_its_length(scope: Scope) -> None:
    instrument = await _opened(scope, block_terminator=False)
    for query in (b"CURV?\n", b"*IDN?\n", b"EMPTY?\n", b"NONE?\n", b"HASH?\n", b"CURV?\n"):
        assert await _ask(instrument, query) == REPLIES[query]
    await instrument.close()


async def test_a_block_with_a_terminator_is_read_with_it(scope: Scope) -> None:
    instrument = await _opened(scope, block_terminator=True)
    for query in (b"CURV:LF?\n", b"*IDN?\n", b"HASH?\n", b"CURV:LF?\n"):
        assert await _ask(instrument, query) == REPLIES[query]
    await instrument.close()


async def test_a_terminator_that_never_comes_uses_up_the_budget(scope: Scope) -> None:
    """What the profile key is for."""
    instrument = await _opened(scope, block_terminator=True)
    with pytest.raises(TransactionTimeout):
        await _ask(instrument, b"CURV?\n")
    async with asyncio.timeout(5.0):
        assert await _ask(instrument, b"*IDN?\n") == REPLIES[b"*IDN?\n"]
    await instrument.close()
