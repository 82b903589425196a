"""The entry point: what pytest loads in every run, so it is light.

pyvisa, asyncio, yaml, msgspec and the bench are imported by the first test that uses an
instrument, or when the user names one; not by a project that merely has this installed.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_safetyq.plugin import collection, markers, mistaken_paths, options
from pytest_safetyq.plugin.distributed import Controller
from pytest_safetyq.plugin.fixtures import (
    _safetyq_guard,
    async_instrument,
    async_instruments,
    dispatcher,
    instrument,
    instruments,
    safety,
)
from pytest_safetyq.plugin.state import RUNTIME, STDERR, runtime_of

if TYPE_CHECKING:
    from pytest_safetyq.bench.wire.messages import InstrumentSpec

__all__ = [
    "_safetyq_guard",
    "async_instrument",
    "async_instruments",
    "dispatcher",
    "instrument",
    "instruments",
    "safety",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    options.add_options(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    """Register ``--instrument`` last; refuse one that would go to another plugin.

    Real is never silent: without this the user's hardware would be ignored, and the tests
    would run on a simulation.
    """
    paths = early_config.known_args_namespace.file_or_dir
    mistaken_paths.forget_instrument_as_path(args, paths)
    moved = mistaken_paths.moved_root(early_config, paths)
    if moved is not None:
        raise pytest.UsageError(moved)
    yield
    taken = options.claim_instrument(parser, early_config.pluginmanager)
    problem = options.uses_taken_option(taken, args) if taken is not None else None
    if problem is not None:
        raise pytest.UsageError(problem)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers; where the user has named something, look whether it can be."""
    # pytest captures nothing yet: this is what the user sees, whatever becomes of sys.stderr.
    config.stash[STDERR] = os.dup(2)
    for line in markers.LINES:
        config.addinivalue_line("markers", line)
    if config.pluginmanager.hasplugin("xdist") and config.getoption("dist", "no") != "no":
        config.pluginmanager.register(Controller(config), "safetyq-controller")
    options.safe_state_scope(config)
    if _names_something(config):
        runtime_of(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Give back what `pytest_configure` took."""
    os.close(config.stash[STDERR])
    del config.stash[STDERR]


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Run ``--safetyq-list`` and ``--safetyq-check`` instead of tests."""
    if config.getoption("safetyq_list"):
        from pytest_safetyq.plugin import commands

        return commands.list_all(config)
    if config.getoption("safetyq_check"):
        from pytest_safetyq.plugin import commands

        return commands.check(config)
    return None


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say of each instrument that the user has named whether it is real or simulated."""
    return _instrument_lines(config) if RUNTIME in config.stash else []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Check what the tests ask for, and say what the header couldn't."""
    announced = RUNTIME in config.stash and config.get_verbosity() >= 0
    collection.prepare(config, items)
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")
    if RUNTIME in config.stash and not announced and reporter is not None:
        for line in _instrument_lines(config):
            reporter.write_line(line)


def _instrument_lines(config: pytest.Config) -> list[str]:
    """Return a line for each instrument; in a quiet run only for real ones, never silent."""
    runtime = runtime_of(config)
    named = runtime.selection.named or tuple(runtime.selection.specs)
    specs = [runtime.selection.specs[name] for name in named]
    is_quiet = config.get_verbosity() < 0
    return [instrument_line(spec) for spec in specs if not (spec.simulated and is_quiet)]


def instrument_line(spec: InstrumentSpec) -> str:
    """Return what the header says of an instrument."""
    name = "" if spec.name == spec.resource else f"{spec.name}: "
    kind = "SIMULATED" if spec.simulated else "REAL"
    return f"safetyq: {name}{spec.resource} {kind} {spec.model or 'model by *IDN?'}"


def _names_something(config: pytest.Config) -> bool:
    return bool(
        options.instruments_named(config)
        or options.bench_file(config)
        or config.getoption("safetyq_visa")
        or config.getoption("safetyq_model")
        or config.getoption("safetyq_trace")
        or options.report_files(config)
    )
