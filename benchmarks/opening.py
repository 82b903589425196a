"""From nothing to the first open instrument, and what a query through the supervisor costs."""

import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import pyvisa
from pyvisa.resources import MessageBasedResource

import sim_instruments
from benchmarks.figures import Figure, spread
from pytest_safetyq import Instrument
from pytest_safetyq.bench.client.bench import Bench
from pytest_safetyq.bench.selection import Wish, select
from pytest_safetyq.bench.wire.messages import InstrumentSpec

ROUNDS = 5
QUERIES = 200
TARGET_OPEN_S = 1.0
QUERY = "*IDN?"
CLIENT = "import pytest_safetyq.bench.client.bench, pytest_safetyq.bench.selection"


def run() -> list[Figure]:
    """Measure the opening, then the round trips."""
    spec = first_spec()
    return [*opening(spec), *round_trips(spec)]


def first_spec() -> InstrumentSpec:
    """Return the first instrument of the simulated bench."""
    selection = select(Wish(visa="@sim"))
    return selection.specs[selection.first]


def opening(spec: InstrumentSpec) -> list[Figure]:
    """Return the seconds that it takes to get at an instrument, as a whole and in parts."""
    parts_s = list(zip(*[one_opening_s(spec) for _ in range(ROUNDS)], strict=True))
    totals_s = [sum(parts) for parts in zip(*parts_s, strict=True)]
    names = ("importing the client", "starting the supervisor", "opening the instrument")
    return [
        Figure(
            "from nothing to an open instrument",
            median(totals_s),
            "s",
            TARGET_OPEN_S,
            spread(totals_s, "s"),
        ),
        *(
            Figure(f"  of it {name}", median(samples), "s")
            for name, samples in zip(names, parts_s, strict=True)
        ),
    ]


def one_opening_s(spec: InstrumentSpec) -> tuple[float, float, float]:
    """Return the seconds of: importing the client, starting the supervisor, opening."""
    import_s = interpreter_s(CLIENT) - interpreter_s("pass")
    begun_s = time.perf_counter()
    bench = Bench()
    try:
        started_s = time.perf_counter()
        bench.open(spec)
        opened_s = time.perf_counter()
    finally:
        bench.close()
    return import_s, started_s - begun_s, opened_s - started_s


def interpreter_s(program: str) -> float:
    """Return how many seconds an interpreter takes for ``program``."""
    begun_s = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - begun_s


def round_trips(spec: InstrumentSpec) -> list[Figure]:
    """Return the round trip through the supervisor, beside PyVISA in this process."""
    sim_instruments.install()
    manager = pyvisa.ResourceManager(spec.library)
    bench = Bench()
    try:
        direct = manager.open_resource(spec.resource, resource_pyclass=MessageBasedResource)
        assert isinstance(direct, MessageBasedResource)
        direct.read_termination = direct.write_termination = "\n"
        remote = Instrument(bench, bench.open(spec))
        rounds = [(query_us(remote.query), query_us(direct.query)) for _ in range(ROUNDS)]
    finally:
        bench.close()
        manager.close()
    remote_us, direct_us = (list(samples) for samples in zip(*rounds, strict=True))
    return [
        Figure(
            "query through the supervisor", median(remote_us), "µs", None, spread(remote_us, "µs")
        ),
        Figure(
            "PyVISA @sim in this process", median(direct_us), "µs", None, spread(direct_us, "µs")
        ),
        Figure("the supervisor to PyVISA", median(remote_us) / median(direct_us), "x"),
    ]


def query_us(query: Callable[[str], str]) -> float:
    """Return the median of the microseconds that one query takes."""
    samples = []
    for _ in range(QUERIES):
        begun_s = time.perf_counter()
        query(QUERY)
        samples.append(time.perf_counter() - begun_s)
    return median(samples) * 1e6
