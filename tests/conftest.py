"""Fixtures for tests that run pytest in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sim_instruments import WITNESS_VARIABLE, WitnessEntry, read_witness

pytest_plugins = ["pytester"]

SETTLE_S = 20.0
"""Seconds within which a supervisor must have done its last work; never waited out in vain."""


@dataclass
class Witness:
    """What the simulated instruments themselves say they were told."""

    path: Path

    @property
    def entries(self) -> list[WitnessEntry]:
        return read_witness(self.path) if self.path.exists() else []

    def messages(self, instrument: str = "GPIB0::5::INSTR") -> list[str]:
        return [e.message for e in self.entries if e.instrument == instrument]

    @property
    def was_on(self) -> bool:
        """Whether any output was ever on."""
        return any(any(entry.output.values()) for entry in self.entries)

    @property
    def is_off_and_read_back(self) -> bool:
        """Whether the last thing the SMU executed is the confirm query, answered with off."""
        smu = [e for e in self.entries if e.instrument == "GPIB0::5::INSTR"]
        return bool(smu) and smu[-1].message.upper() == ":OUTP?" and smu[-1].reply == "0"

    def time_on_s(self) -> list[float]:
        """For each time that the SMU was on, for how long, in seconds."""
        spans: list[float] = []
        since: float | None = None
        for entry in self.entries:
            is_on = any(entry.output.values())
            if is_on and since is None:
                since = entry.t
            elif not is_on and since is not None:
                spans.append(entry.t - since)
                since = None
        return spans if since is None else [*spans, float("inf")]

    def wait_until_off(self) -> None:
        """Wait until the SMU is off and was read back; fail if that takes too long."""
        deadline = time.monotonic() + SETTLE_S
        while not self.is_off_and_read_back:
            assert time.monotonic() < deadline, self.messages()
            time.sleep(0.01)


@dataclass
class Suite:
    """A project of one test file, run by pytest in a process of its own."""

    directory: Path
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, source: str, name: str = "test_it.py") -> None:
        (self.directory / name).write_text(source, encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            cwd=self.directory,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def run_detached(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start pytest without waiting for what it or its children write."""
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            cwd=self.directory,
            env={**os.environ, **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@pytest.fixture
def runtime_dir(tmp_path: Path) -> Path:
    """Where supervisors of this test leave what they leave; empty afterwards, hopefully."""
    directory = tmp_path / "run"
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(tmp_path / "witness.jsonl")


@pytest.fixture
def suite(tmp_path: Path, witness: Witness, runtime_dir: Path) -> Suite:
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = strict\nasyncio_default_fixture_loop_scope = function\n"
        "filterwarnings = error\n",
        encoding="utf-8",
    )
    environment = {
        WITNESS_VARIABLE: str(witness.path),
        "XDG_RUNTIME_DIR": str(runtime_dir),
        "SAFETYQ_INSTRUMENT": "",
        "SAFETYQ_BENCH": "",
        "PYVISA_LIBRARY": "",
        "PYTEST_ADDOPTS": "",
    }
    return Suite(directory, environment)


@pytest.fixture
def run_tests(suite: Suite) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Write a test file and run it."""

    def run(source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        suite.write(source)
        return suite.run(*arguments)

    return run


def left_behind(runtime_dir: Path) -> list[str]:
    """What supervisors have left in their directory, once they had time to end."""
    deadline = time.monotonic() + SETTLE_S
    while (left := _runs(runtime_dir)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def _runs(runtime_dir: Path) -> list[str]:
    return [path.name for path in (runtime_dir / "safetyq").glob("run-*")]
