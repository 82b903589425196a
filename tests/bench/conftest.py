"""Fixtures for the tests of the bench that need a simulated counterpart of a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from profile_rig import Lab

from pytest_safetyq.bench.supervisor import opening
from sim_instruments import WITNESS_VARIABLE


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    lab = Lab(tmp_path)
    monkeypatch.setenv(WITNESS_VARIABLE, str(lab.witness_file))
    return lab


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up sooner on what is never answered."""
    monkeypatch.setattr(opening, "OPEN_TIMEOUT_S", 0.5)
    monkeypatch.setattr(opening, "DEFAULT_TIMEOUT_S", 0.3)
