"""If one of these fails after an upgrade of pyvisa-sim, `pyvisa_sim_adapter.py` needs a change."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import pyvisa
from pyvisa.resources import MessageBasedResource
from pyvisa_sim import parser
from pyvisa_sim.devices import Device

import sim_instruments
from sim_instruments import pyvisa_sim_adapter

PLAIN = r"""
spec: "1.1"
devices:
  plain:
    eom:
      GPIB INSTR: {q: "\n", r: "\n"}
    error: ERROR
    dialogues:
      - {q: "*IDN?", r: "plain"}
    properties:
      volt:
        default: 1
        getter: {q: "VOLT?", r: "{:.2f}"}
        setter: {q: "VOLT {:.2f}", r: OK}
        specs: {type: float, min: 0, max: 5}
resources:
  GPIB0::1::INSTR: {device: plain}
  GPIB0::1::INSTR: {device: plain}
"""


def test_the_private_names_are_as_the_adapter_knows_them() -> None:
    assert pyvisa_sim_adapter.contract_breaches() == []


def test_a_changed_private_name_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "get_device", pyvisa_sim_adapter._original_get_device)
    monkeypatch.setattr(Device, "read", lambda self, count: (b"", False))
    with pytest.raises(RuntimeError, match=r"pyvisa-sim is not supported: .*count"):
        sim_instruments.install()


def test_pyvisa_gets_our_devices_through_the_patched_names(
    bench_file: Callable[..., Path], open_file: Callable[[Path], pyvisa.ResourceManager]
) -> None:
    devices = open_file(bench_file()).visalib.devices  # type: ignore[attr-defined]
    device = devices["GPIB0::5::INSTR"]
    assert isinstance(device, pyvisa_sim_adapter.ScpiDevice)
    device.write(b"*OPC?\n")
    assert [device.read() for _ in range(3)] == [(b"1", False), (b"\n", True), (b"", False)]


def test_installing_twice_is_installing_once() -> None:
    sim_instruments.install()
    installed = parser.get_device, parser.get_devices
    sim_instruments.install()
    assert (parser.get_device, parser.get_devices) == installed


def test_a_plain_file_behaves_as_without_us(
    tmp_path: Path, open_file: Callable[[Path], pyvisa.ResourceManager]
) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text(PLAIN)
    session = open_file(path).open_resource("GPIB0::1::INSTR", read_termination="\n")
    assert isinstance(session, MessageBasedResource)
    session.write_termination = "\n"
    assert type(session.visalib.devices["GPIB0::1::INSTR"]) is Device  # type: ignore[attr-defined]
    dialogue = [
        session.query(query) for query in ("*IDN?", "*idn?", "VOLT 2.00", "VOLT?", "VOLT 9")
    ]
    assert dialogue == ["plain", "ERROR", "OK", "2.00", "ERROR"]


def test_pyvisa_sims_bundled_bench_still_opens() -> None:
    sim_instruments.install()
    manager = pyvisa.ResourceManager("@sim")
    assert manager.list_resources()
    manager.close()


def test_importing_the_package_imports_no_pyvisa() -> None:
    code = "import sys, sim_instruments; print(sorted(m for m in sys.modules if 'visa' in m))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_public_names_are_pinned() -> None:
    assert sim_instruments.__all__ == [
        "BENCH_YAML",
        "WITNESS_VARIABLE",
        "WitnessEntry",
        "install",
        "read_witness",
        "resources",
    ]
    assert all(hasattr(sim_instruments, name) for name in sim_instruments.__all__)
