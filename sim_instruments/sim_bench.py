"""A served bench as a test holds it: started, addressed, controlled, and ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from sim_instruments.control import Control
from sim_instruments.witness import WitnessEntry, read_witness

START_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 10.0
IDLE_S = 30.0


class SimBench:
    """A bench of simulated instruments in a process of its own.

    Use it as a context manager, or `stop` it. It outlives the process that started it, and ends by
    itself when nobody was connected for `idle_s`.

    Args:
        files: bench files; the bundled bench when there are none.
        wires: the wires that every instrument is on, the first being the usual one; `NAME:PORT`
            for fixed ports.
        directory: where the witness, the bench file and what the server complains of are written;
            a temporary directory, removed by `stop`, when it is not given.
        idle_s: seconds without a client after which it ends by itself, 0 for never.
        seed: makes faults at random repeatable.

    Raises:
        ValueError: the server refuses, in its own words.
        TimeoutError: it did not come up.

    Attributes:
        control: the control socket: faults, states, the witness as it is written.
        process: the server.
        witness_file: the file that the witness is in.
        bench_file: a bench file for pytest-safetyq; not there when a Prologix adapter is the only
            wire.
        announcement: what the server said of itself.
    """

    def __init__(
        self,
        *files: str | Path,
        wires: Sequence[str] = ("socket",),
        directory: Path | None = None,
        idle_s: float = IDLE_S,
        seed: int | None = None,
    ) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if directory is None:
            self._temporary = tempfile.TemporaryDirectory()
            directory = Path(self._temporary.name)
        self.witness_file = directory / "witness.jsonl"
        self.bench_file = directory / "bench.yaml"
        arguments = [*map(str, files), "--witness", str(self.witness_file), "--idle", str(idle_s)]
        arguments += [f"--wire={wire}" for wire in wires]
        if seed is not None:
            arguments.append(f"--seed={seed}")
        if any(not wire.startswith("prologix") for wire in wires):
            arguments.append(f"--write-bench={self.bench_file}")
        self._wire = wires[0].partition(":")[0]
        try:
            self.process, self.announcement = _started(arguments, directory / "server.log")
            self.control = Control(self.announcement["control"])
        except BaseException:
            self._remove()  # a server that nobody is connected to ends by itself
            raise

    @property
    def names(self) -> list[str]:
        """The names of the instruments."""
        return list(self.announcement["instruments"])

    @property
    def interfaces(self) -> Mapping[str, str]:
        """By wire the resource to open first and keep open; the Prologix adapter has one."""
        interfaces: Mapping[str, str] = self.announcement["interfaces"]
        return interfaces

    def resource_name(self, instrument: str, wire: str | None = None) -> str:
        """Give the resource name that PyVISA opens an instrument with.

        Args:
            instrument: its name, as in `smu`.
            wire: which of its wires, the first that was asked for unless given.

        Raises:
            KeyError: there is no such instrument, or it is not on that wire.
        """
        name: str = self.announcement["instruments"][instrument]["resources"][wire or self._wire]
        return name

    def witness(self) -> list[WitnessEntry]:
        """Read what was executed so far, in the order of execution."""
        return read_witness(self.witness_file)

    def stop(self) -> None:
        """End the server; harmless when it has ended."""
        self.control.close()
        self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self._remove()

    def __enter__(self) -> SimBench:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _remove(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()


def _started(arguments: list[str], log: Path) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    with log.open("w", encoding="utf-8") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sim_instruments", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            env=_environment(),
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    assert process.stdout is not None
    # Ends the wait for a line that does not come.
    overdue = threading.Timer(START_TIMEOUT_S, process.kill)
    overdue.start()
    try:
        for line in process.stdout:
            # Other lines are somebody else's: a `sitecustomize` may greet every process.
            if line.startswith('{"pid":'):
                return process, json.loads(line)
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        overdue.cancel()
        process.stdout.close()
    if process.returncode in (1, 2):
        reason = log.read_text(encoding="utf-8").strip().splitlines()[-1]
        raise ValueError(reason.removeprefix("sim_instruments: "))
    raise TimeoutError(f"the server did not come up in {START_TIMEOUT_S:g} s")


def _environment() -> dict[str, str]:
    """Give the environment in which the server finds this very package."""
    environment = dict(os.environ)
    home = str(Path(__file__).parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(
        [home, *filter(None, [environment.get("PYTHONPATH")])]
    )
    # The user's wish to see warnings as errors is about the tests, not about this process.
    environment.pop("PYTHONWARNINGS", None)
    return environment
