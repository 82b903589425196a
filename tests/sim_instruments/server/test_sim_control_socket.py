"""The control socket's own manners."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator

import pytest
from pyvisa.resources import MessageBasedResource

from sim_instruments.control import Control
from sim_instruments.sim_bench import SimBench

Visa = Callable[..., MessageBasedResource]


@pytest.fixture
def bare(sim_bench: SimBench) -> Iterator[socket.socket]:
    """A connection that says what `Control` would never say."""
    with socket.create_connection(("127.0.0.1", sim_bench.control.port), 10) as connection:
        yield connection
    # Whatever it said, others are served.
    assert sim_bench.control.state("smu").clients == 0


def answers(bare: socket.socket, sent: bytes, count: int = 1) -> list[dict[str, object]]:
    bare.sendall(sent)
    with bare.makefile("rb") as stream:
        return [json.loads(stream.readline()) for _ in range(count)]


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (b"nonsense", "JSON is malformed"),
        (b"\xff\xfe", "malformed"),
        (b"[]", "Expected `object`"),
        (b"{}", "missing required field `do`"),
        (b'{"do": "dance"}', "Invalid value 'dance'"),
        (b'{"do": "state"}', "missing required field `instrument`"),
        (b'{"do": "state", "instrument": "smo"}', "no instrument 'smo', only smu, supply"),
        (b'{"do": "state", "instrument": 5}', "Expected `str`, got `int`"),
        (b'{"do": "stop", "now": true}', "unknown field `now`"),
        (b'{"do": "happen", "instrument": "smu", "what": "delay"}', "Invalid enum value 'delay'"),
        (
            b'{"do": "fault", "instrument": "smu", "rule": {"kind": "delay", "rate": 7}}',
            "rate must be above 0 and at most 1, not 7",
        ),
        (
            b'{"do": "happen", "instrument": "smu", "what": "stall", "seconds": -1}',
            "seconds must be 0 or more, not -1",
        ),
        (b'{"do": "lift", "what": "drop"}', "Invalid enum value 'drop'"),
        (b"x" * 10_000_000, "a line is longer than 4096 bytes"),
    ],
)
def test_a_mistake_is_answered_in_one_line_and_the_next_request_served(
    bare: socket.socket, sent: bytes, problem: str
) -> None:
    mistaken, served = answers(bare, sent + b'\n{"do": "lift"}\n', 2)
    assert problem in str(mistaken["error"])
    assert "\n" not in str(mistaken["error"])
    assert served == {"result": None}


def test_the_client_raises_what_the_server_says(sim_bench: SimBench) -> None:
    with pytest.raises(ValueError, match="no instrument 'smo', only smu, supply, dmm, load"):
        sim_bench.control.state("smo")
    with pytest.raises(ValueError, match="Invalid enum value 'explode'"):
        sim_bench.control.happen("smu", "explode")


def test_every_watcher_gets_every_entry_in_order(sim_bench: SimBench, visa: Visa) -> None:
    with sim_bench.control.watch() as first, sim_bench.control.watch() as second:
        smu = visa(sim_bench.resource_name("smu"))
        for number in range(20):
            smu.query(f"OUTP {number % 2};OUTP?")
        seen = [[stream.next() for _ in range(20)] for stream in (first, second)]
    assert seen[0] == seen[1] == sim_bench.witness()


def test_a_watcher_waits_for_what_it_looks_for(sim_bench: SimBench, visa: Visa) -> None:
    with sim_bench.control.watch() as witness:
        smu = visa(sim_bench.resource_name("smu"))
        smu.write("OUTP ON")
        smu.write("OUTP OFF")
        found = witness.wait_for(lambda entry: entry.output == {"1": False})
        assert found.message == "OUTP OFF"
        with pytest.raises(TimeoutError, match=r"nothing came in 0\.1 s"):
            witness.next(timeout_s=0.1)


def test_the_end_of_the_server_is_a_connection_error(sim_bench: SimBench) -> None:
    with sim_bench.control.watch() as witness, Control(sim_bench.control.port) as other:
        other.stop()
        with pytest.raises(ConnectionError):
            witness.next()
    sim_bench.process.wait(10)


def test_a_watcher_that_never_reads_is_let_go(sim_bench: SimBench, visa: Visa) -> None:
    with sim_bench.control.watch() as idler, sim_bench.control.watch() as reader:
        smu = visa(sim_bench.resource_name("smu"))
        # Entries of 4 kB each: more than the server keeps for one watcher.
        padding = " " * 4000
        for _ in range(50):
            for _ in range(120):
                smu.write(f"OUTP{padding}ON")
            assert smu.query("OUTP?") == "1"
            reader.wait_for(lambda entry: entry.message == "OUTP?")
        with pytest.raises(ConnectionError):
            idler.wait_for(lambda entry: entry.message == "what nobody sent")
    assert sim_bench.control.state("smu").output == {"1": True}
