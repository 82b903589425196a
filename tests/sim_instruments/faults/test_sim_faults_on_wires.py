"""Every fault, as a client sees it, and what the instrument did meanwhile."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable

import pytest
from pyvisa import VisaIOError
from pyvisa.resources import MessageBasedResource
from sim_helpers import wait_until

from sim_instruments.control import Control
from sim_instruments.sim_bench import SimBench

Connect = Callable[[str], socket.socket]
Visa = Callable[..., MessageBasedResource]

WIRES = ["socket"] if sys.platform == "win32" else ["socket", "serial"]

on_each_wire = pytest.mark.parametrize("wire", WIRES)
pytestmark = pytest.mark.sim_bench(wires=WIRES, seed=5)


@pytest.fixture
def control(sim_bench: SimBench) -> Control:
    return sim_bench.control


@pytest.fixture
def client(sim_bench: SimBench, connect_raw: Connect) -> socket.socket:
    return connect_raw(sim_bench.resource_name("smu"))


def receive(client: socket.socket, end: bytes = b"\n") -> bytes:
    received = b""
    while not received.endswith(end):
        chunk = client.recv(4096)
        if not chunk:
            break
        received += chunk
    return received


def messages(bench: SimBench) -> list[str]:
    return [entry.message for entry in bench.witness()]


@on_each_wire
def test_a_delayed_reply_comes_late_and_the_command_acts_at_once(
    sim_bench: SimBench, control: Control, visa: Visa, wire: str
) -> None:
    control.fault("smu", "delay", pattern="OUTP ON", seconds=0.3, count=1)
    smu = visa(sim_bench.resource_name("smu", wire))
    before_s = time.monotonic()
    assert smu.query("OUTP ON;OUTP?") == "1"
    assert time.monotonic() - before_s >= 0.3
    assert sim_bench.witness()[0].t - before_s < 0.3


@on_each_wire
def test_a_trickled_reply_comes_byte_by_byte(
    sim_bench: SimBench, control: Control, visa: Visa, wire: str
) -> None:
    control.fault("smu", "trickle", seconds=0.02)
    smu = visa(sim_bench.resource_name("smu", wire))
    before_s = time.monotonic()
    assert smu.query("MEAS:CURR?") == "+0.000000E+00"
    assert time.monotonic() - before_s >= 13 * 0.02


def test_a_fragmented_reply_comes_in_pieces(control: Control, client: socket.socket) -> None:
    control.fault("smu", "fragment", size=5, seconds=0.05)
    client.sendall(b"MEAS:CURR?\n")
    begun_s = time.monotonic()
    assert receive(client) == b"+0.000000E+00\n"
    assert time.monotonic() - begun_s >= 0.1


@on_each_wire
def test_a_reply_that_does_not_come_leaves_the_next_in_its_place(
    sim_bench: SimBench, control: Control, visa: Visa, wire: str
) -> None:
    control.fault("smu", "no_reply", pattern="IDN", count=1)
    smu = visa(sim_bench.resource_name("smu", wire), 300)
    smu.write("*IDN?")
    assert smu.query("OUTP?") == "0"
    assert messages(sim_bench) == ["*IDN?", "OUTP?"]
    assert smu.query("*IDN?").startswith("KEITHLEY")


def test_garbage_comes_before_the_reply(control: Control, client: socket.socket) -> None:
    control.fault("smu", "garbage", data="00ff7f", count=1)
    client.sendall(b"OUTP?\n")
    assert receive(client) == b"\x00\xff\x7f0\n"


def test_garbage_at_random_is_the_same_with_the_same_seed(
    control: Control, client: socket.socket
) -> None:
    received = []
    for seed in (1, 1, 2):
        control.lift()
        control.seed(seed)
        control.fault("smu", "garbage", rate=0.5)
        client.sendall(b"OUTP?\n" * 20 + b"SYST:VERS?\n")
        received.append(receive(client, b"1996.0\n"))
    assert received[0] == received[1] != received[2]
    assert len(received[0]) > len(b"0\n" * 20 + b"1996.0\n")


@on_each_wire
def test_a_stalled_instrument_obeys_and_says_nothing(
    sim_bench: SimBench, control: Control, visa: Visa, wire: str
) -> None:
    smu = visa(sim_bench.resource_name("smu", wire), 300)
    control.happen("smu", "stall")
    smu.write("OUTP ON;OUTP?")
    with pytest.raises(VisaIOError):
        smu.read()
    assert control.state("smu").output == {"1": True}
    assert control.state("smu").stalled
    control.lift("smu", "stall")
    assert smu.read() == "1"


@on_each_wire
def test_a_frozen_instrument_reads_nothing_until_it_thaws(
    sim_bench: SimBench, control: Control, visa: Visa, wire: str
) -> None:
    smu = visa(sim_bench.resource_name("smu", wire), 300)
    assert smu.query("OUTP?") == "0"
    control.happen("smu", "frozen")
    smu.write("OUTP ON")  # which succeeds, and proves nothing
    with pytest.raises(VisaIOError):
        smu.query("OUTP?")
    assert messages(sim_bench) == ["OUTP?"]
    assert control.state("smu").output == {"1": False}
    control.lift("smu")
    assert smu.read() == "1"
    assert messages(sim_bench) == ["OUTP?", "OUTP ON", "OUTP?"]


def test_a_frozen_instrument_is_frozen_for_new_clients_too(
    sim_bench: SimBench, control: Control, visa: Visa
) -> None:
    control.happen("smu", "frozen")
    late = visa(sim_bench.resource_name("smu"), 300)
    with pytest.raises(VisaIOError):
        late.query("OUTP?")
    assert visa(sim_bench.resource_name("dmm")).query("*OPC?") == "1"


@on_each_wire
def test_a_message_can_freeze_it_for_a_time(
    sim_bench: SimBench, control: Control, visa: Visa, wire: str
) -> None:
    control.fault("smu", "frozen", pattern="OUTP ON", seconds=0.5, count=1)
    smu = visa(sim_bench.resource_name("smu", wire))
    before_s = time.monotonic()
    smu.write("OUTP ON")
    smu.write("OUTP OFF")
    assert smu.query("OUTP?") == "0"
    on, off, _ = sim_bench.witness()
    assert (on.output, off.output) == ({"1": True}, {"1": False})
    assert off.t - before_s >= 0.5


def test_a_second_freeze_is_not_ended_by_the_timer_of_the_first(control: Control) -> None:
    control.happen("smu", "frozen", seconds=0.1)
    control.happen("smu", "frozen")
    control.happen("dmm", "frozen", seconds=0.3)
    wait_until(lambda: not control.state("dmm").frozen)
    assert control.state("smu").frozen


def test_a_dropped_connection_ends_in_good_order_without_the_reply(
    sim_bench: SimBench, control: Control, client: socket.socket
) -> None:
    control.fault("smu", "drop", pattern="OUTP OFF", count=1)
    client.sendall(b"*OPC?\nOUTP OFF;*OPC?\n")
    assert receive(client, b"never") == b"1\n"
    assert messages(sim_bench) == ["*OPC?", "OUTP OFF;*OPC?"]


def test_a_reset_connection_is_an_error_at_the_client(
    sim_bench: SimBench, control: Control, client: socket.socket
) -> None:
    control.fault("smu", "reset", pattern="OUTP OFF", count=1)
    client.sendall(b"OUTP OFF\n")
    with pytest.raises(ConnectionResetError):
        client.recv(100)
    assert messages(sim_bench) == ["OUTP OFF"]


@pytest.mark.parametrize("what", ["drop", "reset"])
def test_every_network_client_loses_its_connection_at_once_and_may_come_back(
    sim_bench: SimBench, control: Control, visa: Visa, connect_raw: Connect, what: str
) -> None:
    resource = sim_bench.resource_name("smu")
    clients = [connect_raw(resource) for _ in range(3)]
    wait_until(lambda: control.state("smu").clients == 3)
    assert control.happen("smu", what) == 3
    for client in clients:
        if what == "drop":
            assert client.recv(100) == b""
        else:
            with pytest.raises(ConnectionResetError):
                client.recv(100)
    # The serial line has no connection to lose.
    assert all(visa(sim_bench.resource_name("smu", w)).query("OUTP?") == "0" for w in WIRES)


def test_other_messages_and_instruments_are_spared(
    sim_bench: SimBench, control: Control, visa: Visa
) -> None:
    control.fault("smu", "no_reply", pattern="IDN")
    assert visa(sim_bench.resource_name("smu")).query("OUTP?") == "0"
    assert visa(sim_bench.resource_name("dmm")).query("*IDN?").startswith("SIM")


def test_chance_strikes_about_as_often_as_asked(
    sim_bench: SimBench, control: Control, client: socket.socket
) -> None:
    control.fault("smu", "no_reply", pattern=r"^OUTP\?$", rate=0.2)
    client.sendall(b"OUTP?\n" * 500 + b"SYST:VERS?\n")
    replies = receive(client, b"1996.0\n").count(b"0\n") - 1
    assert 350 < replies < 450
    assert len(messages(sim_bench)) == 501


def test_faults_in_force_are_told_and_lifted(control: Control) -> None:
    control.fault("smu", "delay", pattern="OUTP", seconds=0.5, count=2)
    (fault,) = control.state("smu").faults
    assert (fault["kind"], fault["pattern"], fault["seconds"]) == ("delay", "OUTP", 0.5)
    control.lift("smu")
    assert control.state("smu").faults == []


@pytest.mark.sim_bench(wires=["socket"])
@pytest.mark.parametrize("kind", ["unplug", "sticky_lock"])
def test_a_fault_that_could_never_strike_is_refused(control: Control, kind: str) -> None:
    with pytest.raises(ValueError, match=f"{kind} needs smu on one of the wires: "):
        control.fault("smu", kind)
