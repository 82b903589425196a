"""The scheduler is pure: importing it brings in nothing that runs, waits or tells the time."""

import subprocess
import sys
from pathlib import Path

import pytest_safetyq

ROOT = Path(pytest_safetyq.__file__).parents[1]

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import pytest_safetyq.scheduling
print("\\n".join(sorted(set(sys.modules) - before)))
"""

IMPURE = {
    "asyncio", "concurrent", "datetime", "logging", "multiprocessing", "pytest", "pyvisa",
    "random", "sched", "select", "selectors", "serial", "signal", "socket", "subprocess",
    "threading", "time",
}  # fmt: skip


def imported_with_the_scheduler() -> set[str]:
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", PROGRAM, str(ROOT)],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return set(done.stdout.split())


def test_importing_the_scheduler_brings_in_nothing_impure() -> None:
    imported = imported_with_the_scheduler()
    assert "pytest_safetyq.scheduling.scheduler" in imported
    assert not {name.partition(".")[0] for name in imported} & IMPURE


def test_importing_the_scheduler_brings_in_no_other_room_of_the_house() -> None:
    own = {name for name in imported_with_the_scheduler() if name.startswith("pytest_safetyq.")}
    assert {name.split(".")[1] for name in own} == {"scheduling"}
