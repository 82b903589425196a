"""Benches for the tests: each in its own file, as PyVISA caches a bench by path."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pyvisa
import yaml
from pyvisa.resources import MessageBasedResource

import sim_instruments

SMU = "GPIB0::5::INSTR"
SUPPLY = "GPIB0::6::INSTR"

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture
def bench_file(tmp_path: Path) -> Callable[..., Path]:
    """Write the bundled bench, changed by a function of its `devices`, to a fresh file."""

    def write(edit: Edit | None = None, name: str = "bench.yaml") -> Path:
        data = yaml.load(sim_instruments.BENCH_YAML.read_text(), Loader=yaml.BaseLoader)
        if edit is not None:
            edit(data["devices"])
        path = tmp_path / name
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return path

    return write


@pytest.fixture
def open_file() -> Iterator[Callable[[Path], pyvisa.ResourceManager]]:
    """Open a bench file through PyVISA, and close it after the test."""
    sim_instruments.install()
    managers = []

    def open_path(path: Path) -> pyvisa.ResourceManager:
        manager = pyvisa.ResourceManager(f"{path}@sim")
        managers.append(manager)
        return manager

    yield open_path
    for manager in managers:
        manager.close()


@pytest.fixture
def connect(
    bench_file: Callable[..., Path], open_file: Callable[[Path], pyvisa.ResourceManager]
) -> Callable[..., MessageBasedResource]:
    """Open one resource of a fresh bench."""

    def open_resource(resource: str = SMU, edit: Edit | None = None) -> MessageBasedResource:
        session = open_file(bench_file(edit)).open_resource(
            resource, read_termination="\n", write_termination="\n", timeout=100
        )
        assert isinstance(session, MessageBasedResource)
        return session

    return open_resource


@pytest.fixture
def smu(connect: Callable[..., MessageBasedResource]) -> MessageBasedResource:
    return connect(SMU)


@pytest.fixture
def supply(connect: Callable[..., MessageBasedResource]) -> MessageBasedResource:
    return connect(SUPPLY)


@pytest.fixture
def visa() -> Iterator[Callable[..., MessageBasedResource]]:
    """Open resources with PyVISA-py, and close them after the test."""
    manager = pyvisa.ResourceManager("@py")
    opened = []

    def open_resource(name: str, timeout_ms: int = 5000) -> MessageBasedResource:
        session = manager.open_resource(
            name, read_termination="\n", write_termination="\n", timeout=timeout_ms
        )
        assert isinstance(session, MessageBasedResource)
        opened.append(session)
        return session

    yield open_resource
    for session in opened:
        session.close()


@pytest.fixture
def connect_raw() -> Iterator[Callable[[str], socket.socket]]:
    """Connect to a raw socket's resource without PyVISA."""
    opened = []

    def connect_to(resource: str) -> socket.socket:
        _, host, port, _ = resource.split("::")
        connection = socket.create_connection((host, int(port)), 10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.append(connection)
        return connection

    yield connect_to
    for connection in opened:
        connection.close()
