"""The ``safetyq`` command, in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_rig import SMU, Rig, write_bench, write_simulation
from projects import Witness, left_behind

from pytest_safetyq import EStopLatched
from pytest_safetyq.bench.profiles import profile_names


class Command:
    """Runs ``safetyq`` with files and a witness of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.runtime_dir = directory / "run"
        self.runtime_dir.mkdir(mode=0o700)
        self.witness = Witness(directory / "witness.jsonl")
        self.environment: dict[str, str] = {}

    def bench(self, edit: Callable[[dict[str, Any]], object] | None = None) -> str:
        simulation = write_simulation(self.directory / "simulation.yaml", edit)
        return str(write_bench(self.directory / "bench.yaml", simulation))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        dropped = ("PYVISA_LIBRARY", "SAFETYQ_BENCH", "SAFETYQ_INSTRUMENT")
        inherited = {key: value for key, value in os.environ.items() if key not in dropped}
        return subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; from pytest_safetyq.cli import main; sys.exit(main())",
                *arguments,
            ],
            env={
                **inherited,
                "SAFETYQ_RUNTIME_DIR": str(self.runtime_dir),
                "SIM_INSTRUMENTS_WITNESS": str(self.witness.path),
                **self.environment,
            },
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def safetyq(tmp_path: Path) -> Command:
    return Command(tmp_path)


def _is_one_line(ended: subprocess.CompletedProcess[str]) -> str:
    """Return the one line that was said of a mistake."""
    assert "Traceback" not in ended.stderr, ended.stderr
    said = (ended.stdout + ended.stderr).strip()
    assert len(said.splitlines()) == 1, said
    return said


def test_models_lists_what_ships(safetyq: Command) -> None:
    ended = safetyq.run("models")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == profile_names()
    assert "keithley-2400: :OUTP OFF, confirmed by :OUTP?" in lines
    assert "sim-dmm: nothing to switch off" in lines


def test_list_shows_resources_and_profiles(safetyq: Command) -> None:
    ended = safetyq.run("list", "--visa", "@sim")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"  {SMU}" in ended.stdout.splitlines()
    assert "  keithley-2400" in ended.stdout.splitlines()
    assert left_behind(safetyq.runtime_dir) == []


def test_list_with_a_library_that_there_is_not(safetyq: Command) -> None:
    ended = safetyq.run("list", "--visa", "missing.yaml@sim")
    assert "missing.yaml" in ended.stdout
    assert "Traceback" not in ended.stderr
    assert f"  {SMU}" in ended.stdout.splitlines()  # the shipped simulation is there all the same


def test_check_proves_the_estop_of_all(safetyq: Command) -> None:
    ended = safetyq.run("check", "--bench", safetyq.bench())
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    assert "SIMULATED keithley-2400: KEITHLEY" in ended.stdout
    assert ended.stdout.count("CONFIRMED") == 4
    assert "REAL" not in ended.stdout
    assert safetyq.witness.is_off_and_read_back
    assert left_behind(safetyq.runtime_dir) == []


def test_check_of_one_instrument(safetyq: Command) -> None:
    ended = safetyq.run("check", "--bench", safetyq.bench(), "--instrument", "load")
    assert ended.returncode == 0
    assert ended.stdout.count("CONFIRMED") == 1
    assert safetyq.witness.messages(SMU) == []


def test_check_without_a_name_is_the_simulated_bench(safetyq: Command) -> None:
    ended = safetyq.run("check")
    assert ended.returncode == 0
    assert ended.stdout.count("SIMULATED") == 4


def _stuck_on(devices: dict[str, Any]) -> None:
    devices["smu"]["traits"]["output_stuck_on"] = "true"
    devices["smu"]["scpi"]["settings"]["output"]["default"] = "ON"


def test_check_of_an_instrument_that_stays_on(safetyq: Command) -> None:
    ended = safetyq.run("check", "--bench", safetyq.bench(_stuck_on))
    assert ended.returncode == 1
    assert "smu: off UNCONFIRMED after 3 attempts" in ended.stdout
    assert "load: off CONFIRMED" in ended.stdout
    assert left_behind(safetyq.runtime_dir) == []


def test_check_of_an_instrument_that_is_absent(safetyq: Command) -> None:
    bench = safetyq.bench()
    ended = safetyq.run("check", "--bench", bench, "--instrument", "smu=GPIB0::25")
    assert ended.returncode == 1
    line = _is_one_line(ended)
    assert "found instead" in line
    assert SMU in line


@pytest.mark.parametrize("command", ["check", "estop"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("instruments: {smu: {resourc: GPIB0::5}}\n", "resource"),
        ("instruments: [\n", "bench.yaml:"),
        ("", "empty"),
        ("instruments: {smu: {resource: GPIB0::5, model: keithly-2400}}\n", "keithley-2400"),
    ],
)
def test_a_bad_bench_file_is_one_line(
    safetyq: Command, command: str, text: str, expected: str
) -> None:
    file = safetyq.directory / "bench.yaml"
    file.write_text(text, encoding="utf-8")
    ended = safetyq.run(command, "--bench", str(file))
    assert ended.returncode != 0
    line = _is_one_line(ended)
    assert "bench.yaml" in line
    assert expected in line


def test_a_bench_file_that_is_none_is_one_line(safetyq: Command) -> None:
    for file in ("missing.yaml", "."):
        ended = safetyq.run("check", "--bench", file)
        assert ended.returncode != 0
        assert file in _is_one_line(ended)


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["check", "--nonsense"]])
def test_bad_usage(safetyq: Command, arguments: list[str]) -> None:
    ended = safetyq.run(*arguments)
    assert ended.returncode == 2
    assert "usage: safetyq" in ended.stderr


def test_an_instrument_of_the_environment_is_named_too(safetyq: Command) -> None:
    """What it names must not be passed over for the simulated bench."""
    safetyq.environment["SAFETYQ_INSTRUMENT"] = "GPIB0::25::INSTR"
    ended = safetyq.run("check")
    assert "GPIB0::25::INSTR" in ended.stdout + ended.stderr
    assert ended.returncode == 1


def test_the_bench_file_of_the_environment(safetyq: Command) -> None:
    safetyq.environment["SAFETYQ_BENCH"] = safetyq.bench()
    assert safetyq.run("check").returncode == 0
    assert safetyq.witness.is_off_and_read_back


def test_estop_with_nothing_alive_and_nothing_named(safetyq: Command) -> None:
    ended = safetyq.run("estop")
    assert ended.returncode == 1
    assert "--bench" in _is_one_line(ended)


@pytest.mark.parametrize("by", ["option", "environment"])
def test_estop_with_nothing_alive_opens_what_is_named(safetyq: Command, by: str) -> None:
    bench = safetyq.bench()
    if by == "environment":
        safetyq.environment["SAFETYQ_BENCH"] = bench
        ended = safetyq.run("estop")
    else:
        ended = safetyq.run("estop", "--bench", bench)
    assert ended.returncode == 0, ended.stdout
    assert "smu: off CONFIRMED" in ended.stdout
    assert safetyq.witness.is_off_and_read_back
    assert left_behind(safetyq.runtime_dir) == []


def test_estop_while_a_run_holds_the_instruments(own: Rig, safetyq: Command) -> None:
    safetyq.environment["SAFETYQ_RUNTIME_DIR"] = str(own.runtime_dir)
    own.smu.write(":OUTP ON")
    ended = safetyq.run("estop")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "smu: off CONFIRMED (on the wire after" in ended.stdout
    assert not own.is_on
    assert own.smu.latched
    with pytest.raises(EStopLatched, match="safetyq estop"):
        own.smu.write(":OUTP ON")
    assert own.bench.lost is None


def test_estop_of_a_run_whose_output_stays_on(start: Callable[..., Rig], safetyq: Command) -> None:
    rig = start(_stuck_on)
    safetyq.environment["SAFETYQ_RUNTIME_DIR"] = str(rig.runtime_dir)
    ended = safetyq.run("estop")
    assert ended.returncode == 1
    assert "smu: off UNCONFIRMED" in ended.stdout


def test_estop_of_what_is_named_although_another_run_is_alive(
    start: Callable[..., Rig], safetyq: Command
) -> None:
    """A run that doesn't hold the instrument is no reason to leave it on."""
    rig = start(instruments="  load: {resource: 'GPIB0::8::INSTR', model: sim-load}\n")
    safetyq.environment["SAFETYQ_RUNTIME_DIR"] = str(rig.runtime_dir)
    rig.smu.query(":OUTP?")
    ended = safetyq.run("estop", "--bench", safetyq.bench())
    assert safetyq.witness.messages("GPIB0::6::INSTR"), "the supply was never told"
    assert ended.returncode == 0


def test_a_simulated_run_does_not_stand_for_the_hardware_of_the_same_address(
    own: Rig, safetyq: Command
) -> None:
    """The run that is alive holds a simulated SMU at that address; the real one is meant."""
    safetyq.environment["SAFETYQ_RUNTIME_DIR"] = str(own.runtime_dir)
    ended = safetyq.run("estop", "--instrument", SMU, "--visa", "@py")
    assert not own.is_on
    assert f"{SMU} REAL" in ended.stdout
    assert ended.returncode == 1


def test_a_run_on_another_simulation_is_another_bench(own: Rig, safetyq: Command) -> None:
    safetyq.environment["SAFETYQ_RUNTIME_DIR"] = str(own.runtime_dir)
    ended = safetyq.run("estop", "--bench", safetyq.bench())
    assert safetyq.witness.messages(SMU), "the SMU that was named was never told"
    assert ended.returncode == 0


def test_a_runtime_directory_that_is_open_to_others_is_one_line(safetyq: Command) -> None:
    safetyq.runtime_dir.chmod(0o755)
    ended = safetyq.run("estop")
    assert ended.returncode != 0
    assert "chmod 700" in _is_one_line(ended)
