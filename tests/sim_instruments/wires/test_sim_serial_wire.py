"""The serial line, beside what `test_sim_wires.py` says of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import serial
import serial_asyncio
from pyvisa.resources import MessageBasedResource
from sim_helpers import wait_until

from sim_instruments.sim_bench import SimBench
from sim_instruments.wires.serial_line import SerialListener

Visa = Callable[..., MessageBasedResource]

needs_pty = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
serial_bench = pytest.mark.sim_bench(wires=["serial"])


def device_file(bench: SimBench, name: str = "smu") -> str:
    return bench.resource_name(name).removeprefix("ASRL").removesuffix("::INSTR")


@needs_pty
@serial_bench
async def test_pyserial_asyncio_drives_it(sim_bench: SimBench) -> None:
    reader, writer = await serial_asyncio.open_serial_connection(url=device_file(sim_bench))
    try:
        replies = []
        for number in range(50):
            writer.write(b"OUTP %d;OUTP?\n" % (number % 2))
            replies.append(await asyncio.wait_for(reader.readline(), 5))
    finally:
        writer.close()
    assert replies == [b"0\n", b"1\n"] * 25


@needs_pty
@serial_bench
def test_bytes_pass_as_they_are(sim_bench: SimBench) -> None:
    # A terminal that is not raw would translate, echo, or act on some of these.
    controls = bytes(range(1, 32)).replace(b"\n", b"")
    with serial.Serial(device_file(sim_bench), timeout=5) as line:
        line.write(controls + b"*OPC?" + controls + b"\n")
        assert line.read_until(b"\n") == b"1\n"


@needs_pty
@serial_bench
def test_a_client_that_went_makes_way_for_the_next(sim_bench: SimBench, visa: Visa) -> None:
    for state in ("1", "0", "1"):
        smu = visa(sim_bench.resource_name("smu"))
        assert smu.query(f"OUTP {state};OUTP?") == state
        smu.close()


@needs_pty
@serial_bench
def test_an_unplugged_cable_hangs_up_and_a_replugged_one_works(
    sim_bench: SimBench, visa: Visa
) -> None:
    path = device_file(sim_bench)
    with serial.Serial(path, timeout=5) as line:
        line.write(b"OUTP ON;*OPC?\n")
        assert line.read_until(b"\n") == b"1\n"
        sim_bench.control.happen("smu", "unplug")
        assert not Path(path).exists()
        with pytest.raises((serial.SerialException, OSError)):
            line.read(1)
    sim_bench.control.lift("smu", "unplug")
    # The instrument was on all the time.
    assert visa(sim_bench.resource_name("smu")).query("OUTP?") == "1"


@needs_pty
@serial_bench
def test_a_cable_is_unplugged_by_a_message_and_back_after_a_time(
    sim_bench: SimBench, visa: Visa
) -> None:
    path = Path(device_file(sim_bench))
    sim_bench.control.fault("smu", "unplug", pattern="OUTP OFF", count=1, seconds=0.3)
    with serial.Serial(str(path), timeout=5) as line:
        line.write(b"OUTP OFF\n")
        with pytest.raises((serial.SerialException, OSError)):
            line.read(1)
    wait_until(path.exists)
    assert visa(sim_bench.resource_name("smu")).query("OUTP?") == "0"


@needs_pty
@serial_bench
def test_the_device_files_are_gone_with_the_server(sim_bench: SimBench) -> None:
    directory = Path(device_file(sim_bench)).parent
    assert directory.exists()
    sim_bench.stop()
    assert not directory.exists()


async def test_without_pseudo_terminals_there_is_a_line_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("os.openpty", raising=False)
    with pytest.raises(ValueError, match="no pseudo-terminals, take another wire"):
        await SerialListener().start([], 0)
