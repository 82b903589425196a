"""Whom the server outlives, and what it ends by."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyvisa.resources import MessageBasedResource
from sim_helpers import wait_until

from sim_instruments import read_witness
from sim_instruments.control import Control
from sim_instruments.sim_bench import SimBench

Visa = Callable[..., MessageBasedResource]
Connect = Callable[[str], socket.socket]

STARTS_AND_DIES = """
import os, signal, sys
from pathlib import Path
from sim_instruments.sim_bench import SimBench
bench = SimBench(directory=Path(sys.argv[1]), idle_s=float(sys.argv[2]))
print(bench.control.port, bench.resource_name("smu"), flush=True)
os.killpg(os.getpgrp(), signal.SIGKILL)
"""

SWITCHES_ON_AND_DIES = """
import os, signal, sys, pyvisa
smu = pyvisa.ResourceManager("@py").open_resource(
    sys.argv[1], read_termination="\\n", write_termination="\\n"
)
smu.query("OUTP ON;OUTP?")
os.kill(os.getpid(), signal.SIGKILL)
"""

needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


def is_free(port: int) -> bool:
    """Whether nobody listens on a port; a connection would keep a server alive."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def has_ended(bench: SimBench) -> bool:
    return bench.process.poll() is not None


@needs_kill
def test_it_outlives_whoever_started_it_and_then_ends_by_itself(tmp_path: Path, visa: Visa) -> None:
    starter = subprocess.run(
        [sys.executable, "-c", STARTS_AND_DIES, str(tmp_path), "1"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert starter.returncode == -signal.SIGKILL
    port, resource = starter.stdout.split()
    with Control(int(port)) as control:
        smu = visa(resource)
        assert smu.query("OUTP?") == "0"
        assert not is_free(int(port))
        assert control.state("smu").clients == 1
    assert [entry.message for entry in read_witness(tmp_path / "witness.jsonl")] == ["OUTP?"]
    smu.close()
    wait_until(lambda: is_free(int(port)))


@needs_kill
def test_a_killed_client_is_let_go_and_the_output_stays_as_it_was(
    sim_bench: SimBench, visa: Visa
) -> None:
    resource = sim_bench.resource_name("smu")
    client = subprocess.run([sys.executable, "-c", SWITCHES_ON_AND_DIES, resource], check=False)
    assert client.returncode == -signal.SIGKILL
    wait_until(lambda: sim_bench.control.state("smu").clients == 0)
    assert sim_bench.control.state("smu").output == {"1": True}
    assert visa(resource).query("OUTP OFF;OUTP?") == "0"
    assert [entry.output["1"] for entry in sim_bench.witness()] == [True, False]


@pytest.mark.sim_bench(idle_s=0.5)
def test_it_ends_when_nobody_was_connected_for_the_idle_time(sim_bench: SimBench) -> None:
    begun_s = time.monotonic()
    time.sleep(1.0)  # the control connection keeps it alive for twice the idle time
    assert not has_ended(sim_bench)
    sim_bench.control.close()
    wait_until(lambda: has_ended(sim_bench))
    assert sim_bench.process.returncode == 0
    assert time.monotonic() - begun_s >= 1.5


@pytest.mark.sim_bench(idle_s=0.5)
def test_a_client_keeps_it_alive(sim_bench: SimBench, connect_raw: Connect) -> None:
    client = connect_raw(sim_bench.resource_name("smu"))
    sim_bench.control.close()
    time.sleep(1.0)
    client.sendall(b"*OPC?\n")
    assert client.recv(10) == b"1\n"
    client.close()
    wait_until(lambda: has_ended(sim_bench))


@pytest.mark.sim_bench(idle_s=0.5)
@pytest.mark.parametrize("what", ["frozen", "stall"])
def test_a_client_that_died_of_a_hung_instrument_does_not_keep_it_alive(
    sim_bench: SimBench, connect_raw: Connect, what: str
) -> None:
    client = connect_raw(sim_bench.resource_name("smu"))
    sim_bench.control.happen("smu", what)
    client.sendall(b"*OPC?\n")
    client.close()
    sim_bench.control.close()
    wait_until(lambda: has_ended(sim_bench))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_it_in_good_order(
    sim_bench: SimBench, connect_raw: Connect, number: str
) -> None:
    if signal.getsignal(getattr(signal, number)) is signal.SIG_IGN:
        pytest.skip("whoever runs the tests has it ignored, and so has the server")
    client = connect_raw(sim_bench.resource_name("smu"))
    client.sendall(b"*OPC?\n")
    assert client.recv(10) == b"1\n"
    sim_bench.process.send_signal(getattr(signal, number))
    assert client.recv(10) == b""
    wait_until(lambda: has_ended(sim_bench))
    assert sim_bench.process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_signal_that_was_ignored_at_the_start_stays_ignored() -> None:
    command = ["sh", "-c", 'trap "" HUP; exec "$0" -m sim_instruments', sys.executable]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    with server, Control(json.loads(server.stdout.readline())["control"]) as control:
        server.send_signal(signal.SIGHUP)
        assert control.state("smu").output == {"1": False}
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0


def test_a_request_ends_it_even_while_a_client_does_not_read(
    sim_bench: SimBench, connect_raw: Connect
) -> None:
    client = connect_raw(sim_bench.resource_name("smu"))
    client.settimeout(0.3)
    with pytest.raises(TimeoutError):
        client.sendall(b"*IDN?\n" * 20_000_000)
    sim_bench.control.stop()
    wait_until(lambda: has_ended(sim_bench))
    assert sim_bench.process.returncode == 0
