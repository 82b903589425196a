"""What one client does wrong, only this client feels."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Iterator

import pytest
from sim_helpers import wait_until

from sim_instruments.sim_bench import SimBench

Connect = Callable[[str], socket.socket]


@pytest.fixture
def bystander(sim_bench: SimBench, connect_raw: Connect) -> Iterator[socket.socket]:
    """Somebody else, who is served before and afterwards."""
    other = connect_raw(sim_bench.resource_name("smu"))
    assert ask(other, b"*OPC?") == b"1\n"
    yield other
    assert ask(other, b"*OPC?") == b"1\n"


@pytest.fixture
def culprit(sim_bench: SimBench, connect_raw: Connect, bystander: socket.socket) -> socket.socket:
    del bystander
    return connect_raw(sim_bench.resource_name("smu"))


def ask(client: socket.socket, message: bytes) -> bytes:
    client.sendall(message + b"\n")
    return answer(client)


def answer(client: socket.socket) -> bytes:
    reply = b""
    while not reply.endswith(b"\n"):
        chunk = client.recv(4096)
        assert chunk, reply
        reply += chunk
    return reply


def test_a_line_of_ten_megabytes_is_an_overrun(culprit: socket.socket) -> None:
    culprit.sendall(b"x" * 10_000_000 + b"\n")
    assert ask(culprit, b"SYST:ERR?") == b'-363,"Input buffer overrun"\n'


def test_bytes_that_are_no_text_are_an_error(culprit: socket.socket) -> None:
    culprit.sendall(b"\xff\xfe\x00OUTP ON\n")
    assert ask(culprit, b"SYST:ERR?") == b'-101,"Invalid character"\n'
    assert ask(culprit, b"OUTP?") == b"0\n"


def test_half_a_message_is_forgotten_with_its_client(
    sim_bench: SimBench, culprit: socket.socket, bystander: socket.socket
) -> None:
    culprit.sendall(b"OUTP ON")
    culprit.close()
    wait_until(lambda: sim_bench.control.state("smu").clients == 1)
    assert ask(bystander, b"OUTP?") == b"0\n"


def test_noise_is_survived(culprit: socket.socket) -> None:
    noise = random.Random(7)
    for _ in range(200):
        culprit.sendall(noise.randbytes(noise.randrange(1, 400)))
    culprit.sendall(b"\n*CLS\n")
    # Whatever of it was a question has been answered before this one.
    culprit.sendall(b"SYST:VERS?\n")
    while not answer(culprit).endswith(b"1996.0\n"):
        pass


def test_a_client_that_never_reads_blocks_itself_alone(
    culprit: socket.socket, bystander: socket.socket
) -> None:
    culprit.settimeout(0.5)
    # Bounded: what the buffers of both ends can take together is far less than this.
    with pytest.raises(TimeoutError):
        culprit.sendall(b"*IDN?\n" * 20_000_000)
    assert all(ask(bystander, b"OUTP?") == b"0\n" for _ in range(100))


def test_replies_that_wait_are_bounded_and_none_is_lost(culprit: socket.socket) -> None:
    # Each takes 2 ms: they come much faster than they are answered.
    culprit.sendall(b"MEAS:VOLT?\n" * 1500)
    with culprit.makefile("rb") as stream:
        assert {stream.readline() for _ in range(1500)} == {b"+0.000000E+00\n"}
