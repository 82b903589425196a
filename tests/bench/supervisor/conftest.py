"""Fixtures for the tests of the supervisor."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from rack_helpers import Openings
from supervisor_helpers import running

from pytest_safetyq.bench.platform import DIRECTORY_VARIABLE


@pytest_asyncio.fixture(autouse=True)
async def stop_what_runs() -> AsyncIterator[None]:
    """Leave no dispatcher running after a test that failed."""
    running.clear()
    yield
    for instrument in running:
        stopping = asyncio.create_task(instrument.dispatcher.stop())
        await asyncio.wait({stopping}, timeout=2.0)
        stopping.cancel()


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> Openings:
    played = Openings()
    monkeypatch.setattr("pytest_safetyq.bench.supervisor.rack.open_instrument", played.open)
    return played


@pytest.fixture(autouse=True)
def runtime_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "safetyq"
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(directory))
    return directory
