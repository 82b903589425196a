"""A bench of simulated instruments in a supervisor of its own, and the witness to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from projects import Witness

import sim_instruments
from pytest_safetyq.bench import (
    AsyncInstrument,
    Bench,
    EStopReport,
    Instrument,
    RemoteDispatcher,
    Safety,
)
from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench.endpoint import Endpoint
from pytest_safetyq.bench.selection import Wish, select
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.dispatcher.loan import Transact
from pytest_safetyq.errors import LinkLost
from pytest_safetyq.scheduling import Priority

PATIENCE_S = 10.0
"""Seconds after which something that must happen counts as not happening; never waited in vain."""

SMU = "GPIB0::5::INSTR"

DIALOGUES = {
    ":DATA:ASC?": "1.5,2.5,-3.5E-3",
    ":DATA:SEMI?": "1;2;3",
    ":DATA:HEX?": "1A,ff",
    ":DATA:WORD?": "on,off",
    ":CURV:BYTE?": "#15HELLO",
    ":CURV:WORD?": "#14ABCD",
    ":CURV:HIGH?": "#14\u00e9\u00a3",
    ":CURV:FLO?": "#18AAAABBBB",
    ":CURV:LINE?": "#13A\nB",
    ":CURV:BARE?": "AB",
    ":CURV:LONG?": "#" + "41000" + "x" * 1000,
}

T = TypeVar("T")

Edit = Callable[[dict[str, Any]], object]


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until ``condition()`` is true; fail, saying ``what``, if it never is."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"it never happened: {what}"
        time.sleep(0.003)


async def until_async(condition: Callable[[], object], what: str) -> None:
    """Do as `until`, without blocking the loop."""
    deadline = time.monotonic() + PATIENCE_S
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, f"it never happened: {what}"
        await asyncio.sleep(0.003)


def bounded(function: Callable[[], T], seconds: float = 5.0) -> T:
    """Return what ``function`` returns; fail if it doesn't return at all."""
    outcome: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"it has not returned in {seconds:g} s"
    if errors:
        raise errors[0]
    return outcome[0]


def all_end(threads: list[threading.Thread]) -> None:
    """Start threads and wait for all of them; fail if one doesn't end."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def write_simulation(path: Path, edit: Edit | None = None) -> Path:
    """Write a fresh simulation with slow, mute and talkative queries; ``edit`` its devices."""
    data = yaml.load(sim_instruments.BENCH_YAML.read_text(encoding="utf-8"), yaml.BaseLoader)
    smu = data["devices"]["smu"]
    smu["dialogues"] += [{"q": query, "r": reply} for query, reply in DIALOGUES.items()]
    smu["traits"] = {"takes_s": {":READ?": "0.2"}, "mute_headers": [":FETCh?"]}
    if edit is not None:
        edit(data["devices"])
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return path


def write_bench(path: Path, simulation: Path, instruments: str = "") -> Path:
    """Write a bench file that uses ``simulation``."""
    path.write_text(
        f'visa: "{simulation}@sim"\n'
        "instruments:\n"
        f"  smu: {{resource: {SMU}, model: keithley-2400, timeout_s: 1.0,"
        " limits: {voltage_v: 20, current_a: 1}}\n"
        + (
            instruments
            or (
                "  supply: {resource: 'GPIB0::6::INSTR', model: sim-supply}\n"
                "  dmm: {resource: 'GPIB0::7::INSTR', model: sim-dmm}\n"
                "  load: {resource: 'GPIB0::8::INSTR', model: sim-load}\n"
            )
        ),
        encoding="utf-8",
    )
    return path


def is_gone(pid: int) -> bool:
    """Whether the process has ended, reaped or not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


@dataclass(repr=False)
class Rig:
    """A bench, what is open on it, and where it leaves its traces.

    Attributes:
        bench: The bench.
        endpoint: Where its supervisor listens.
        witness: What the instruments say they were told.
        simulation: The file that describes them.
        runtime_dir: The run directories are below it.
        specs: What the instruments were opened from.
    """

    bench: Bench
    endpoint: Endpoint
    witness: Witness
    simulation: Path
    runtime_dir: Path
    specs: dict[str, m.InstrumentSpec]
    _earlier: int = 0
    _farewell: list[EStopReport | BaseException] = field(default_factory=list)

    @property
    def pid(self) -> int:
        return self.endpoint.pid

    @property
    def smu(self) -> Instrument:
        return self.instrument("smu")

    @property
    def async_smu(self) -> AsyncInstrument:
        return AsyncInstrument(self.bench, self.bench.open(self.specs["smu"]))

    @property
    def dispatcher(self) -> RemoteDispatcher:
        return RemoteDispatcher(self.bench, "smu")

    @property
    def safety(self) -> Safety:
        return Safety(self.bench, "smu")

    def instrument(self, name: str) -> Instrument:
        return Instrument(self.bench, self.bench.open(self.specs[name]))

    @property
    def directory(self) -> Path:
        """The run directory."""
        return Path(self.endpoint.directory)

    def sent(self) -> list[str]:
        """What the SMU was sent since the bench was made ready."""
        messages: list[str] = self.witness.messages(SMU)
        return messages[self._earlier :]

    @property
    def is_on(self) -> bool:
        """Whether the output of the SMU is on, by its own account."""
        smu = [entry for entry in self.witness.entries if entry.instrument == SMU]
        return bool(smu) and any(smu[-1].output.values())

    def waiting(self, priority: Priority) -> int:
        return self.dispatcher.pending_by_priority[priority]

    @contextlib.contextmanager
    def held(self, priority: Priority = Priority.CONTROL) -> Iterator[None]:
        """Keep the SMU's link on loan, so that all but SAFETY has to wait."""
        granted, release = threading.Event(), threading.Event()

        async def job(txn: Transact) -> None:
            del txn  # a job that thinks
            granted.set()
            await asyncio.to_thread(release.wait, PATIENCE_S)

        def lend() -> None:
            with contextlib.suppress(LinkLost):  # where the test ends the supervisor meanwhile
                asyncio.run(self.dispatcher.run_job(job, priority))

        thread = threading.Thread(target=lend, daemon=True)
        thread.start()
        try:
            assert granted.wait(PATIENCE_S)
            yield
        finally:
            release.set()
            thread.join(PATIENCE_S)

    @property
    def is_healthy(self) -> bool:
        """Whether the supervisor answers and nothing waits any more."""
        try:
            answers = [
                self.bench.connection.request(
                    m.State(id=self.bench.connection.number(), instrument=name)
                )
                for name in self.bench.opened
            ]
            states = [self.bench.connection.wait(answer) for answer in answers]
        except Exception:  # noqa: BLE001 - whatever it is, this one isn't used again
            return False
        return not any(sum(state["pending_by_priority"].values()) for state in states)

    def make_ready(self) -> None:
        """Undo what a test has done: off, rearmed, nothing set."""
        if self.safety.latched:
            self.safety.estop("between two tests")
            self.safety.rearm("between two tests")
        self.smu.write("*RST")
        self.smu.query("*IDN?")  # a link that was left dirty is resynchronised here
        self.bench.begin_test("next")
        self._earlier = len(self.witness.messages(SMU))

    def close(self, patience_s: float = PATIENCE_S) -> EStopReport:
        """Close the bench; fail if that doesn't end."""

        def close() -> None:
            try:
                self._farewell.append(self.bench.close())
            except BaseException as error:  # noqa: BLE001 - raised again below
                self._farewell.append(error)

        thread = threading.Thread(target=close, daemon=True)
        thread.start()
        thread.join(patience_s)
        assert self._farewell, "the bench does not close"
        if isinstance(self._farewell[0], BaseException):
            raise self._farewell[0]
        return self._farewell[0]

    def kill(self, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def end(self) -> None:
        """Leave nothing running, whatever the test has done."""
        if not self._farewell:
            if not self.is_healthy:
                self.kill()
            with contextlib.suppress(Exception, AssertionError):
                self.close(3.0)
        self.kill()


def start(directory: Path, edit: Edit | None = None, instruments: str = "") -> Rig:
    """Start a bench with files below ``directory`` and open the instruments of its bench file."""
    directory.mkdir(parents=True, exist_ok=True)
    runtime_dir = directory / "run"
    runtime_dir.mkdir(mode=0o700, exist_ok=True)
    witness = Witness(directory / "witness.jsonl")
    simulation = write_simulation(directory / "simulation.yaml", edit)
    file = write_bench(directory / "bench.yaml", simulation, instruments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAFETYQ_RUNTIME_DIR", str(runtime_dir))
        patch.setenv(sim_instruments.WITNESS_VARIABLE, str(witness.path))
        bench = Bench("the test")
        (endpoint,) = endpoints.discover()
    specs = select(Wish(bench=file)).specs
    rig = Rig(bench, endpoint, witness, simulation, runtime_dir, specs)
    try:
        for spec in specs.values():
            bench.open(spec)
    except BaseException:
        rig.end()
        raise
    return rig
