"""Supervisors for these tests, which end with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from wire_rig import Peer, Supervisor, submit

from pytest_safetyq.bench.wire import messages as m


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Supervisor]]:
    launched: list[Supervisor] = []

    def launch_supervisor(stderr: IO[str] | int | None = None, patch: str = "") -> Supervisor:
        launched.append(Supervisor(tmp_path, stderr, patch))
        return launched[-1]

    yield launch_supervisor
    for supervisor in launched:
        supervisor.end()


@pytest.fixture
def supervisor(launch: Callable[..., Supervisor]) -> Supervisor:
    return launch()


@pytest.fixture
def ask() -> Callable[[Peer, bytes], m.ToClient | None]:
    """Send one command and return its answer."""
    return lambda peer, payload: peer.answer(submit(peer, payload))
