"""What a project pays that merely has the plugin installed and uses no instrument.

It is counted in processor time: a run of pytest waits for little else, and the wall clock of
a shared machine tells more of the neighbours than of the plugin.
"""

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure, spread

MANY = 2_000
ROUNDS = {1: 15, MANY: 7}
TARGET_RUN_MS = 10.0
TARGET_TEST_US = 20.0
WITHOUT = ("-p", "no:safetyq")
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of one project, in seconds of a processor, pair by pair."""

    with_s: list[float]
    without_s: list[float]

    @property
    def extra_s(self) -> float:
        """What the plugin adds: the fastest runs are those that the neighbours left alone."""
        return min(self.with_s) - min(self.without_s)

    @property
    def pairs_ms(self) -> list[float]:
        """By how many milliseconds the run with the plugin took longer, in each pair."""
        pairs = zip(self.with_s, self.without_s, strict=True)
        return [(with_s - without_s) * 1e3 for with_s, without_s in pairs]


def run() -> list[Figure]:
    """Time runs with and without the plugin, in turn."""
    with tempfile.TemporaryDirectory() as directory:
        one, many = (
            timed(project(Path(directory) / str(count), count), rounds)
            for count, rounds in ROUNDS.items()
        )
    test_us = (many.extra_s - one.extra_s) / MANY * 1e6
    note = "pairs: {}"
    return [
        Figure(
            "installed, per run",
            one.extra_s * 1e3,
            "ms",
            TARGET_RUN_MS,
            note.format(spread(one.pairs_ms, "ms")),
        ),
        Figure(
            "installed, per test",
            test_us,
            "µs",
            TARGET_TEST_US,
            note.format(spread(many.pairs_ms, f"ms for {MANY:,} tests")),
        ),
        Figure("a run without it, 1 test", min(one.without_s) * 1e3, "ms"),
        Figure(f"a run without it, {MANY:,} tests", min(many.without_s) * 1e3, "ms"),
    ]


def project(directory: Path, count: int) -> Path:
    """Make a project of ``count`` empty tests, and return its directory."""
    directory.mkdir()
    (directory / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    tests = "\n\n".join(f"def test_{number}():\n    pass" for number in range(count))
    (directory / "test_empty.py").write_text(tests, encoding="utf-8")
    return directory


def timed(directory: Path, rounds: int) -> Runs:
    """Run the tests in ``directory`` with and without the plugin, ``rounds`` times each.

    Every other pair begins with the other of the two. The first runs only fill the caches.
    """
    run_s(directory)
    run_s(directory, *WITHOUT)
    runs = Runs([], [])
    for number in range(rounds):
        if number % 2:
            runs.without_s.append(run_s(directory, *WITHOUT))
            runs.with_s.append(run_s(directory))
        else:
            runs.with_s.append(run_s(directory))
            runs.without_s.append(run_s(directory, *WITHOUT))
    return runs


def run_s(directory: Path, *options: str) -> float:
    """Return how many seconds of a processor a run of the tests in ``directory`` takes.

    Raises:
        RuntimeError: The tests don't pass.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    begun_s = children_s()
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    took_s = children_s() - begun_s
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return took_s


def children_s() -> float:
    """Return the seconds of a processor that all ended child processes have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def environment() -> dict[str, str]:
    """Return an environment in which nothing but the plugin makes a difference."""
    unwanted = ("PYTHONDONTWRITEBYTECODE", "PYTEST_", "SAFETYQ_", "PYVISA_LIBRARY")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
