"""A project that is tested by pytest in a process of its own, and the witness to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sim_instruments import BENCH_YAML, WitnessEntry, read_witness

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
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def report(self, name: str = "report.json") -> Any:
        """Return the JSON report that a run has written."""
        return json.loads((self.directory / name).read_text(encoding="utf-8"))

    def run_detached(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start pytest without waiting for what it or its children write."""
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            cwd=self.directory,
            env={**os.environ, **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def lying_bench(suite: Suite) -> list[str]:
    """Options for a bench whose SMU accepts OFF without an error, and stays on."""
    bench = yaml.load(BENCH_YAML.read_text(encoding="utf-8"), yaml.BaseLoader)
    bench["devices"]["smu"].setdefault("traits", {})["output_stuck_on"] = "true"
    (suite.directory / "lying.yaml").write_text(yaml.safe_dump(bench), encoding="utf-8")
    return ["--safetyq-visa=lying.yaml@sim", "--instrument=smu=GPIB0::5"]


def left_behind(runtime_dir: Path) -> list[str]:
    """What supervisors have left in their directory, once they had time to end."""
    deadline = time.monotonic() + SETTLE_S
    while (left := _runs(runtime_dir)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def _runs(runtime_dir: Path) -> list[str]:
    return [path.name for path in runtime_dir.glob("run-*")]
