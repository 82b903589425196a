"""The pytest plugin: a simulated bench for whoever has the package installed.

Every run of pytest imports this file, so it imports nothing else until a test asks.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sim_instruments.sim_bench import SimBench

_FORM = '@pytest.mark.sim_bench("FILE.yaml", ..., wires=["socket"], idle_s=30, seed=None)'


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "sim_bench(*files, wires=['socket'], idle_s=30, seed=None): what the fixture sim_bench"
        " serves; the bundled bench on raw sockets without it",
    )


@pytest.fixture
def sim_bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SimBench]:
    """A bench of simulated instruments on real wires, in a process of its own.

    `sim_bench.resource_name("smu")` is for PyVISA, `sim_bench.bench_file` for pytest-safetyq,
    `sim_bench.control` makes faults, `sim_bench.witness()` tells what was executed. The marker
    `sim_bench` says what is served.
    """
    from sim_instruments.sim_bench import SimBench

    marker = request.node.get_closest_marker("sim_bench")
    files, options = (marker.args, marker.kwargs) if marker else ((), {})
    try:
        inspect.signature(SimBench).bind(*files, directory=None, **options)
    except TypeError as error:
        pytest.fail(f"{error}; the right form is {_FORM}", pytrace=False)
    with SimBench(*files, directory=tmp_path_factory.mktemp("sim_bench"), **options) as bench:
        yield bench
