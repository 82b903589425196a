"""Benches for these tests: a shared one that is made ready each time, and fresh ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import bench_rig
import pytest
from bench_rig import Rig


class Shared:
    """One bench for many tests; replaced when a test has broken it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0
        self._rig: Rig | None = None

    def get(self) -> Rig:
        if self._rig is None:
            self._count += 1
            self._rig = bench_rig.start(self._directory / str(self._count))
        self._rig.make_ready()
        return self._rig

    def check(self) -> None:
        if self._rig is not None and not self._rig.is_healthy:
            self.end()

    def end(self) -> None:
        if self._rig is not None:
            self._rig.end()
            self._rig = None


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    shared = Shared(tmp_path_factory.mktemp("bench"))
    yield shared
    shared.end()


@pytest.fixture
def rig(shared: Shared) -> Iterator[Rig]:
    yield shared.get()
    shared.check()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    """Start a bench that the test may break."""
    started: list[Rig] = []

    def start_rig(edit: bench_rig.Edit | None = None, instruments: str = "") -> Rig:
        rig = bench_rig.start(tmp_path / f"bench{len(started)}", edit, instruments)
        started.append(rig)
        return rig

    yield start_rig
    for rig in started:
        rig.end()


@pytest.fixture
def own(start: Callable[..., Rig]) -> Rig:
    """A bench that the test may break."""
    return start()
