from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import pyvisa
from pyvisa.resources import MessageBasedResource

from sim_instruments import WITNESS_VARIABLE, WitnessEntry, read_witness
from sim_instruments.witness import Witness

Connect = Callable[..., MessageBasedResource]
SMU, SUPPLY, DMM = (f"GPIB0::{address}::INSTR" for address in (5, 6, 7))

CHILD = """
import os, signal, sys, pyvisa, sim_instruments
sim_instruments.install()
smu = pyvisa.ResourceManager(sys.argv[1] + "@sim").open_resource("GPIB0::5::INSTR")
smu.write("OUTP ON")
smu.write("OUTP OFF")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def witness_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "witness.jsonl"
    monkeypatch.setenv(WITNESS_VARIABLE, str(path))
    return path


def test_each_message_is_entered_with_the_state_it_left(
    connect: Connect, witness_file: Path
) -> None:
    before_s = time.monotonic()
    smu = connect(SMU)
    smu.write("OUTP ON")
    smu.query("OUTP?;*OPC?")
    smu.write(":outp 0")
    entries = read_witness(witness_file)
    assert [(entry.message, entry.reply, entry.output) for entry in entries] == [
        ("OUTP ON", None, {"1": True}),
        ("OUTP?;*OPC?", "1;1", {"1": True}),
        (":outp 0", None, {"1": False}),
    ]
    assert {entry.instrument for entry in entries} == {SMU}
    times = [before_s, *(entry.t for entry in entries), time.monotonic()]
    assert times == sorted(times)


def test_every_output_is_in_the_entry_and_none_for_a_meter(
    bench_file: Callable[..., Path],
    open_file: Callable[[Path], pyvisa.ResourceManager],
    witness_file: Path,
) -> None:
    manager = open_file(bench_file())
    supply, dmm = manager.open_resource(SUPPLY), manager.open_resource(DMM)
    assert isinstance(supply, MessageBasedResource)
    assert isinstance(dmm, MessageBasedResource)
    supply.write("INST CH2;:OUTP ON")
    dmm.write("*CLS")
    assert [(entry.instrument, entry.output) for entry in read_witness(witness_file)] == [
        (SUPPLY, {"1": False, "2": True}),
        (DMM, {}),
    ]


def test_a_message_that_is_not_ascii_is_entered_readably(
    smu_under_witness: MessageBasedResource, witness_file: Path
) -> None:
    smu_under_witness.write_raw(b"OUTP \xff\n")
    assert read_witness(witness_file)[-1].message == "OUTP \\xff"


@pytest.fixture
def smu_under_witness(witness_file: Path, connect: Connect) -> MessageBasedResource:
    return connect(SMU)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_the_file_survives_the_death_of_the_process(
    bench_file: Callable[..., Path], witness_file: Path
) -> None:
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(bench_file())], env=dict(os.environ), check=False
    )
    assert child.returncode == -signal.SIGKILL
    assert [entry.output for entry in read_witness(witness_file)] == [{"1": True}, {"1": False}]


def test_without_the_variable_there_is_no_file(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(WITNESS_VARIABLE, raising=False)
    connect(SMU).write("OUTP ON")
    assert [path.name for path in tmp_path.iterdir()] == ["bench.yaml"]


def test_a_line_that_is_not_an_entry_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "witness.jsonl"
    path.write_text('{"t": 1.0, "instrument": "a", "message": "b", "reply": null, "output": {}}\n')
    assert read_witness(path) == [WitnessEntry(1.0, "a", "b", None, {})]
    path.write_text("nonsense\n")
    with pytest.raises(ValueError, match="Expecting value"):
        read_witness(path)


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "witness.jsonl"
    Witness(file).record("GPIB0::5::INSTR", "*IDN?", "X", {"1": True})
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:8])
    assert [entry.message for entry in read_witness(file)] == ["*IDN?"]
