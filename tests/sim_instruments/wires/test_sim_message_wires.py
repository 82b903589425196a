"""What holds on HiSLIP, VXI-11 and Prologix alike, driven by PyVISA-py."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pyvisa
import yaml
from pyvisa.constants import StatusCode
from pyvisa.resources import MessageBasedResource
from sim_helpers import wait_until

import sim_instruments
from sim_instruments.sim_bench import SimBench

Open = Callable[..., MessageBasedResource]

WIRES = ["hislip", "vxi11", "prologix"]
SLOW_S = 0.4
MEGABYTE = bytes(range(32, 127)) * 11_100
"""More than PyVISA's chunks and HiSLIP's messages hold at once."""


@pytest.fixture
def block() -> bytes:
    return b"short"


@pytest.fixture
def bench(tmp_path: Path, block: bytes) -> Iterator[SimBench]:
    """The bundled bench, where `:READ?` takes its time and `:DATA?` answers with a block."""
    data: dict[str, Any] = yaml.load(sim_instruments.BENCH_YAML.read_text(), Loader=yaml.BaseLoader)
    smu = data["devices"]["smu"]
    smu["traits"]["takes_s"] = {":READ?": str(SLOW_S)}
    smu["dialogues"].append({"q": ":DATA?", "r": f"#7{len(block):07d}{block.decode()}"})
    path = tmp_path / "bench.yaml"
    path.write_text(yaml.safe_dump(data))
    with SimBench(path, wires=WIRES, directory=tmp_path) as bench:
        yield bench
    assert (tmp_path / "server.log").read_text() == "", "the server complained"


@pytest.fixture
def open_on(bench: SimBench) -> Iterator[Open]:
    """Open an instrument on a wire, through the adapter where the wire has one."""
    manager = pyvisa.ResourceManager("@py")
    opened: list[Any] = []

    def open_instrument(wire: str, instrument: str = "smu", timeout_ms: int = 5000) -> Any:
        interface = bench.interfaces.get(wire)
        if interface is not None and not any(each.resource_name == interface for each in opened):
            adapter = manager.open_resource(interface)
            session = manager.visalib.sessions[adapter.session]
            session.interface.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.append(adapter)
        resource = manager.open_resource(
            bench.resource_name(instrument, wire), write_termination="\n", timeout=timeout_ms
        )
        opened.append(resource)
        return resource

    yield open_instrument
    for resource in reversed(opened):
        resource.close()


def ask(session: MessageBasedResource, question: str) -> str:
    """Query without a termination character, which PyVISA-py's Prologix does not take."""
    return session.query(question).rstrip("\n")


@pytest.mark.parametrize("wire", WIRES)
def test_every_instrument_answers(bench: SimBench, open_on: Open, wire: str) -> None:
    answers = [ask(open_on(wire, name), "*IDN?") for name in bench.names]
    assert [answer.split(",")[1] for answer in answers] == [
        "MODEL 2400",
        "TWO-CHANNEL SUPPLY",
        "MULTIMETER",
        "ELECTRONIC LOAD",
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_the_witness_tells_wire_and_client(bench: SimBench, open_on: Open, wire: str) -> None:
    smu = open_on(wire)
    smu.write("OUTP ON")
    assert ask(smu, "OUTP?") == "1"
    entries = bench.witness()
    assert [(entry.message, entry.wire) for entry in entries] == [
        ("OUTP ON", wire),
        ("OUTP?", wire),
    ]
    assert entries[0].client == entries[1].client != ""


@pytest.mark.parametrize("block", [MEGABYTE], ids=["megabyte"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_block_of_a_megabyte_arrives_whole(open_on: Open, wire: str, block: bytes) -> None:
    smu = open_on(wire)
    smu.write(":DATA?")
    if wire == "prologix":
        # PyVISA-py's adapter has no termination character that it could do without.
        got = b""
        while not got.endswith(b"\n"):
            got += smu.read_raw()
        assert got == f"#7{len(block):07d}".encode() + block + b"\n"
    else:
        assert bytes(smu.read_binary_values(datatype="B")) == block


@pytest.mark.parametrize("wire", WIRES)
def test_a_message_longer_than_the_input_buffer_is_an_error_of_the_instrument(
    open_on: Open, wire: str
) -> None:
    smu = open_on(wire)
    smu.write("OUTP " + "1" * 2_000_000)
    assert ask(smu, "SYST:ERR?") == '-363,"Input buffer overrun"'
    assert ask(smu, "OUTP?") == "0"


@pytest.mark.parametrize(
    ("wire", "question"),
    [
        # A reply that has been sent already would make PyVISA-py's HiSLIP stumble.
        ("hislip", ":READ?"),
        ("vxi11", ":READ?"),
        ("vxi11", "OUTP?"),
        # A slow one would outlast the 50 ms that PyVISA-py lets a Prologix wait.
        ("prologix", "OUTP?"),
    ],
)
def test_clear_discards_a_reply_without_an_error(
    bench: SimBench, open_on: Open, wire: str, question: str
) -> None:
    smu = open_on(wire)
    smu.write(question)
    wait_until(lambda: len(bench.witness()) == 1)
    smu.clear()
    assert ask(smu, "*IDN?").startswith("KEITHLEY")
    assert ask(smu, "SYST:ERR?") == '0,"No error"'


@pytest.mark.parametrize("wire", WIRES)
def test_a_new_message_discards_an_unread_reply_with_an_error(open_on: Open, wire: str) -> None:
    smu = open_on(wire)
    smu.write("OUTP?")
    assert ask(smu, "*IDN?").startswith("KEITHLEY")
    assert ask(smu, "SYST:ERR?") == '-410,"Query INTERRUPTED"'


@pytest.mark.parametrize("wire", ["hislip", "vxi11"])
def test_the_status_byte_tells_of_a_reply(bench: SimBench, open_on: Open, wire: str) -> None:
    smu = open_on(wire)
    assert smu.read_stb() == 0
    smu.write("*IDN?")
    # HiSLIP asks for the status on another connection, which may overtake this one.
    wait_until(lambda: len(bench.witness()) == 1)
    assert smu.read_stb() == 16
    assert smu.read().startswith("KEITHLEY")
    assert smu.read_stb() == 0


def test_prologix_polls_each_instrument(open_on: Open) -> None:
    smu, supply = open_on("prologix"), open_on("prologix", "supply")
    smu.write("nonsense")
    assert [smu.read_stb(), supply.read_stb()] == [4, 0]


@pytest.mark.parametrize("wire", ["hislip", "vxi11"])
def test_a_late_reply_never_answers_the_next_query(open_on: Open, wire: str) -> None:
    smu = open_on(wire, timeout_ms=100)
    with pytest.raises(pyvisa.VisaIOError) as timeout:
        smu.query(":READ?")
    assert timeout.value.error_code == StatusCode.error_timeout
    smu.timeout = 5000
    assert [ask(smu, "*OPC?") for _ in range(3)] == ["1"] * 3


@pytest.mark.parametrize("wire", ["hislip", "vxi11"])
def test_a_read_with_nothing_asked_times_out(open_on: Open, wire: str) -> None:
    smu = open_on(wire, timeout_ms=100)
    with pytest.raises(pyvisa.VisaIOError) as timeout:
        smu.read()
    assert timeout.value.error_code == StatusCode.error_timeout
    # HiSLIP has no message for "read", so the instrument cannot know of one.
    assert ask(smu, "SYST:ERR?")[:4] == {"hislip": '0,"N', "vxi11": "-420"}[wire]


@pytest.mark.parametrize("wire", ["hislip", "vxi11"])
def test_a_second_session_turns_the_output_off_while_the_first_waits(
    bench: SimBench, open_on: Open, wire: str
) -> None:
    first, second = open_on(wire), open_on(wire)
    replies: list[str] = []
    waiting = threading.Thread(target=lambda: replies.append(ask(first, "OUTP ON;:READ?")))
    waiting.start()
    wait_until(lambda: len(bench.witness()) == 1)
    second.write("OUTP 0")
    wait_until(lambda: len(bench.witness()) == 2)
    assert bench.witness()[-1].output == {"1": False}
    assert replies == []
    waiting.join()
    assert len(replies) == 1


def test_vxi11_locks_others_out_until_unlocked(open_on: Open) -> None:
    owner, other = open_on("vxi11"), open_on("vxi11")
    owner.lock_excl()
    with pytest.raises(pyvisa.VisaIOError):
        other.write("OUTP 1")
    with pytest.raises(pyvisa.VisaIOError) as locked:
        other.lock_excl()
    assert locked.value.error_code == StatusCode.error_resource_locked
    owner.unlock()
    other.write("OUTP 1")
    assert ask(owner, "OUTP?") == "1"


def test_vxi11_triggers(open_on: Open, bench: SimBench) -> None:
    smu = open_on("vxi11")
    smu.assert_trigger()
    assert [entry.message for entry in bench.witness()] == ["*TRG"]


@pytest.mark.parametrize("sticky", [False, True])
def test_the_lock_of_a_killed_process_is_released_unless_a_fault_keeps_it(
    bench: SimBench, open_on: Open, sticky: bool
) -> None:
    other = open_on("vxi11")
    if sticky:
        bench.control.fault("smu", "sticky_lock", count=1)
    code = (
        "import pyvisa, sys\n"
        "smu = pyvisa.ResourceManager('@py').open_resource(sys.argv[1], timeout=60000)\n"
        "smu.lock_excl()\n"
        "smu.write('OUTP ON')\n"
        "smu.read()\n"
    )
    name = bench.resource_name("smu", "vxi11")
    with subprocess.Popen([sys.executable, "-c", code, name]) as process:
        wait_until(lambda: len(bench.witness()) == 1)
        os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    wait_until(lambda: bench.control.state("smu").clients == 1)
    if sticky:
        with pytest.raises(pyvisa.VisaIOError):
            other.write("OUTP OFF")
    else:
        other.write("OUTP OFF")
    assert bench.control.state("smu").output == {"1": sticky}
