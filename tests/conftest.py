"""Fixtures for tests that run pytest in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from projects import Suite, Witness, lying_bench

from sim_instruments import WITNESS_VARIABLE

# A busy machine is no fault of an example; what must be in time says so itself.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")


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
        "SAFETYQ_RUNTIME_DIR": str(runtime_dir),
        "SAFETYQ_INSTRUMENT": "",
        "SAFETYQ_BENCH": "",
        "PYVISA_LIBRARY": "",
        "PYTEST_ADDOPTS": "",
    }
    return Suite(directory, environment)


@pytest.fixture
def lying(suite: Suite) -> list[str]:
    """Options for a bench whose SMU accepts OFF and stays on."""
    return lying_bench(suite)
