"""How the server starts, or says in one line why it doesn't."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyvisa.resources import MessageBasedResource

from sim_instruments import BENCH_YAML
from sim_instruments.sim_bench import SimBench

Visa = Callable[..., MessageBasedResource]

PLAIN = r"""
spec: "1.1"
devices:
  psu:
    model: sim-supply
    eom:
      GPIB INSTR: {q: "\n", r: "\n"}
      TCPIP SOCKET: {q: "\r\n", r: "\n"}
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
  GPIB0::1::INSTR: {device: psu}
"""
OTHER = PLAIN.replace("GPIB0::1::", "GPIB0::2::")


def ended(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a server that ends at once."""
    command = [sys.executable, "-m", "sim_instruments", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def four_free_ports() -> int:
    """Find four ports in a row, below those that the system gives to others."""
    for first in range(20_000, 30_000, 4):
        try:
            with contextlib.ExitStack() as held:
                for port in range(first, first + 4):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
        except OSError:
            continue
        return first
    raise AssertionError("no four free ports in a row")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.yaml"
    path.write_text(PLAIN)
    return path


def test_the_announcement_says_where_everything_is(sim_bench: SimBench) -> None:
    said = sim_bench.announcement
    assert said["pid"] == sim_bench.process.pid
    assert said["control"] == sim_bench.control.port
    assert said["witness"] == str(sim_bench.witness_file)
    assert said["interfaces"] == {}
    smu = said["instruments"]["smu"]
    assert smu["address"] == "GPIB0::5::INSTR"
    assert list(smu["resources"]) == ["socket"]
    assert smu["resources"]["socket"].startswith("TCPIP0::127.0.0.1::")


def test_a_plain_device_of_pyvisa_sim_is_served(plain: Path, visa: Visa) -> None:
    with SimBench(plain) as bench:
        psu = visa(bench.resource_name("psu"))
        psu.write_termination = "\r\n"
        replies = [psu.query(query) for query in ("*IDN?", "VOLT 2.00", "VOLT?", "VOLT 9", "x")]
        psu.write_raw(b"VOLT \xff\r\n")
        assert [*replies, psu.read()] == ["plain", "OK", "2.00", "ERROR", "ERROR", "ERROR"]
        assert bench.witness()[1].reply == "OK"
        with pytest.raises(ValueError, match="has no trait 'mute'"):
            bench.control.trait("psu", "mute", True)


def test_several_files_are_one_bench_and_doubles_are_numbered(
    plain: Path, tmp_path: Path, visa: Visa
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(OTHER)
    with SimBench(plain, other, BENCH_YAML) as bench:
        assert bench.names == ["psu-1", "psu-2", "smu", "supply", "dmm", "load"]
        assert visa(bench.resource_name("psu-2")).resource_name != bench.resource_name("psu-1")


def test_a_device_may_come_from_another_file(plain: Path, tmp_path: Path, visa: Visa) -> None:
    path = tmp_path / "refers.yaml"
    path.write_text(
        'spec: "1.1"\ndevices: {}\nresources:\n'
        f"  GPIB0::3::INSTR: {{device: psu, filename: {plain.name}}}\n"
    )
    with SimBench(path) as bench:
        psu = visa(bench.resource_name("psu"))
        psu.write_termination = "\r\n"
        assert psu.query("*IDN?") == "plain"


def test_the_bench_file_is_written_for_the_first_wire(plain: Path) -> None:
    with SimBench(plain, BENCH_YAML) as bench:
        written = yaml.safe_load(bench.bench_file.read_text())
        assert written == {
            "visa": "@py",
            "instruments": {
                "psu": {"resource": bench.resource_name("psu"), "model": "sim-supply"},
                **{
                    name: {"resource": bench.resource_name(name)}
                    for name in ("smu", "supply", "dmm", "load")
                },
            },
        }


def test_ports_that_are_asked_for_are_taken_in_order() -> None:
    first = four_free_ports()
    with SimBench(wires=[f"socket:{first}"]) as bench:
        ports = [int(bench.resource_name(name).split("::")[2]) for name in bench.names]
    assert ports == [first, first + 1, first + 2, first + 3]


def test_a_port_in_use_is_one_line_and_leaves_nothing_running() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        result = ended("--wire", f"socket:{port}")
        assert result.returncode == 1
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        assert f"socket for smu at port {port}: " in result.stderr
        assert "in use" in result.stderr
        control = ended("--control-port", str(port))
        assert control.returncode == 1
        assert f"control socket at port {port}: " in control.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("devices: [", "while parsing"),
        ("", "not a YAML mapping"),
        ('spec: "1.1"\ndevices: {}\nresources: {}', "no 'resources' to serve"),
        (PLAIN + "  GPIB::1: {device: psu}\n", "two devices on the address GPIB0::1::INSTR"),
        (PLAIN.replace("device: psu", "device: psi"), "unknown device 'psi'"),
        (PLAIN.replace('{q: "\\r\\n"', '{q: ""'), "the q of eom 'TCPIP SOCKET' is empty"),
        (PLAIN.replace("type: float", "type: flout"), "device 'psu'"),
        (PLAIN.replace("{device: psu}", "{device: psu, filename: none.yaml}"), "none.yaml"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    result = ended(str(path))
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("sim_instruments: ")
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_address_in_two_files_is_refused(plain: Path, tmp_path: Path) -> None:
    other = tmp_path / "again.yaml"
    other.write_text(PLAIN)
    result = ended(str(plain), str(other))
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert f"{other}: the address GPIB0::1::INSTR is in {plain} too" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--wire", "usb"], "no wire 'usb', only socket, serial"),
        (["--wire", "serial:5"], "serial has no port"),
        (["--wire", "socket:x"], "not a port from 0 to 65535: 'x'"),
        (["--wire", "socket:65536"], "not a port from 0 to 65535"),
        (["--wire", "socket", "--wire", "socket:1"], "a wire can be asked for once only"),
        (["--idle", "-1"], "not a number of seconds: '-1'"),
        (["--idle", "nan"], "not a number of seconds: 'nan'"),
    ],
)
def test_a_mistake_on_the_command_line_is_a_usage_message(
    arguments: list[str], problem: str
) -> None:
    result = ended(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert problem in result.stderr.splitlines()[-1]


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    for option in ("--witness", "--write-bench"):
        result = ended(option, str(tmp_path / "missing" / "file"))
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
        assert "missing" in result.stderr


def test_two_hundred_instruments_start_within_two_seconds(tmp_path: Path) -> None:
    data: dict[str, Any] = yaml.load(BENCH_YAML.read_text(), Loader=yaml.BaseLoader)
    data["resources"] = {f"GPIB{n // 30}::{n % 30}::INSTR": {"device": "smu"} for n in range(200)}
    path = tmp_path / "many.yaml"
    path.write_text(yaml.safe_dump(data))
    before_s = time.monotonic()
    with SimBench(path) as bench:
        took_s = time.monotonic() - before_s
        assert len(bench.names) == len(set(bench.names)) == 200
        assert bench.names[199] == "smu-200"
    # Two seconds on a machine of its own; the benchmark `wires` tells the figure.
    assert took_s < 10


def test_the_command_of_the_plugin_serves_the_same() -> None:
    command = [sys.executable, "-m", "sim_instruments", "--help"]
    direct = subprocess.run(command, capture_output=True, text=True, check=True)
    code = "import sys; from pytest_safetyq.cli import main; sys.exit(main())"
    passed_on = subprocess.run(
        [sys.executable, "-c", code, "serve", "--help"], capture_output=True, text=True, check=True
    )
    assert passed_on.stdout == direct.stdout
    wrong = subprocess.run(
        [sys.executable, "-c", code, "serve", "--wire", "usb"], capture_output=True, check=False
    )
    assert wrong.returncode == 2


def test_the_line_on_the_standard_output_is_json_and_the_only_one() -> None:
    command = [sys.executable, "-m", "sim_instruments", "--idle", "0.2"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert list(json.loads(result.stdout)["instruments"]) == ["smu", "supply", "dmm", "load"]
    assert (result.stdout.count("\n"), result.stderr) == (1, "")
