"""The raw socket without PyVISA, whose own manners would hide some of it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

import pytest
from sim_helpers import wait_until

from sim_instruments.sim_bench import SimBench

Connect = Callable[[str], socket.socket]

IDN = b"KEITHLEY INSTRUMENTS INC.,MODEL 2400,SIM0001,C32\n"


@pytest.fixture
def client(sim_bench: SimBench, connect_raw: Connect) -> socket.socket:
    return connect_raw(sim_bench.resource_name("smu"))


def lines(client: socket.socket, count: int) -> list[bytes]:
    with client.makefile("rb") as stream:
        return [stream.readline() for _ in range(count)]


def test_messages_do_not_depend_on_how_they_are_cut(client: socket.socket) -> None:
    for chunk in (b"*ID", b"N?\n*IDN?\nOUT", b"P?\n"):
        client.sendall(chunk)
    assert lines(client, 3) == [IDN, IDN, b"0\n"]


def test_a_client_that_closes_its_side_still_gets_its_replies(client: socket.socket) -> None:
    client.sendall(b"MEAS:CURR?\n*IDN?\nOUTP ON\n")
    client.shutdown(socket.SHUT_WR)
    with client.makefile("rb") as stream:
        assert stream.read() == b"+0.000000E+00\n" + IDN


def test_what_was_sent_before_the_end_is_executed(
    sim_bench: SimBench, client: socket.socket
) -> None:
    with sim_bench.control.watch() as witness:
        client.sendall(b"OUTP ON\n")
        client.close()
        assert witness.next().output == {"1": True}


def test_a_client_that_resets_its_connection_is_let_go(
    sim_bench: SimBench, client: socket.socket
) -> None:
    client.sendall(b"*OPC?\n")
    assert lines(client, 1) == [b"1\n"]
    assert sim_bench.control.state("smu").clients == 1
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    wait_until(lambda: sim_bench.control.state("smu").clients == 0)


def test_an_instrument_takes_no_more_clients_than_its_trait_says(
    sim_bench: SimBench, client: socket.socket, connect_raw: Connect
) -> None:
    client.sendall(b"*OPC?\n")
    assert lines(client, 1) == [b"1\n"]
    sim_bench.control.trait("smu", "clients", 1)
    refused = connect_raw(sim_bench.resource_name("smu"))
    assert refused.recv(100) == b""
    client.close()
    wait_until(lambda: sim_bench.control.state("smu").clients == 0)
    next_one = connect_raw(sim_bench.resource_name("smu"))
    next_one.sendall(b"*OPC?\n")
    assert lines(next_one, 1) == [b"1\n"]


def test_only_the_loopback_interface_is_listened_on(sim_bench: SimBench) -> None:
    port = int(sim_bench.resource_name("smu").split("::")[2])
    with socket.socket() as elsewhere:
        elsewhere.settimeout(2)
        # Another address of this same machine: whoever listens on all of them has it too.
        assert elsewhere.connect_ex(("127.0.0.2", port)) != 0
