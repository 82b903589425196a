"""The options, and where the value of each comes from.

The command line wins over the environment, and that over the ini file.
"""

import argparse
import inspect
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SCOPES = ("function", "module", "session")
_INSTRUMENT: dict[str, Any] = {
    "dest": "safetyq_instrument",
    "action": "append",
    "metavar": "[NAME=]RESOURCE",
}
_INSTRUMENT_HELP = (
    "The instrument to test with: a PyVISA resource name such as GPIB0::5, or a name in the "
    "bench file. Real hardware, unless the VISA library is @sim. Repeatable."
)


class TakenOption(NamedTuple):
    """``--instrument`` belongs to another plugin.

    Attributes:
        by: The plugin, as well as it could be found out.
    """

    by: str


def add_options(parser: pytest.Parser) -> None:
    """Register the options and ini values, all but ``--instrument``."""
    group = parser.getgroup("safetyq", "instruments, and their safe state (pytest-safetyq)")
    group.addoption("--safetyq-instrument", help="The same as --instrument.", **_INSTRUMENT)
    group.addoption(
        "--safetyq-bench", metavar="FILE", help="The bench file: instruments, models and limits."
    )
    group.addoption(
        "--safetyq-visa",
        metavar="LIBRARY",
        help="The VISA library, as PyVISA takes it: @py, @ivi, @sim, FILE.yaml@sim.",
    )
    group.addoption(
        "--safetyq-model",
        metavar="MODEL",
        help="The profile of a bare --instrument (default: by *IDN?, else generic-scpi).",
    )
    group.addoption(
        "--safetyq-report",
        metavar="FILE",
        action="append",
        help="Write the evidence of the run to FILE, .json or .html. Repeatable.",
    )
    group.addoption(
        "--safetyq-trace", metavar="FILE", help="Write Chrome trace events; opens in Perfetto."
    )
    group.addoption(
        "--safetyq-list", action="store_true", help="List resources and profiles, then exit."
    )
    group.addoption(
        "--safetyq-check",
        action="store_true",
        help="Open each instrument, identify it, prove its E-stop once, then exit.",
    )
    parser.addini("safetyq_instrument", "As --instrument, one to a line.", type="linelist")
    parser.addini("safetyq_bench", "As --safetyq-bench, relative to the ini file.")
    parser.addini("safetyq_visa", "As --safetyq-visa.")
    parser.addini(
        "safetyq_scope",
        "At the end of which scope the safe state is sent: function, module or session.",
        default="function",
    )


def claim_instrument(
    parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager
) -> TakenOption | None:
    """Register ``--instrument``, when all plugins and conftest files have registered theirs.

    Whoever registers an option that exists already brings pytest down with a traceback. So
    this one comes last, and gives way.

    Returns:
        Who has taken it, if anybody.
    """
    group = parser.getgroup("safetyq")
    try:
        group.addoption("--instrument", help=_INSTRUMENT_HELP, **_INSTRUMENT)
    except (ValueError, argparse.ArgumentError):
        return TakenOption(_owner_of_instrument(pluginmanager))
    return None


def _owner_of_instrument(pluginmanager: pytest.PytestPluginManager) -> str:
    """Return the name of the plugin that registers ``--instrument``, by its source."""
    for name, plugin in pluginmanager.list_name_plugin():
        hook = getattr(plugin, "pytest_addoption", None)
        if hook is None or name == "safetyq":
            continue
        try:
            source = inspect.getsource(hook)
        except (OSError, TypeError):
            continue  # it has no source that could be read
        if re.search(r"""["']--instrument["']""", source):
            return name
    return "another plugin"


def uses_taken_option(taken: TakenOption, args: Iterable[str]) -> str | None:
    """Return what to say if the user gave ``--instrument`` to the plugin that has taken it."""
    if not any(arg == "--instrument" or arg.startswith("--instrument=") for arg in args):
        return None
    if taken.by.endswith("conftest.py"):
        remedy = "rename it there"
    else:
        remedy = f"disable that plugin with -p no:{taken.by}"
    return (
        f"--instrument is an option of {taken.by!r}; {remedy}, or write --safetyq-instrument,"
        " which is ours"
    )


def instruments_named(config: pytest.Config) -> Sequence[str]:
    """Return the instruments that the user has named."""
    given: list[str] | None = config.getoption("safetyq_instrument")
    if given:
        return given
    environment = os.environ.get("SAFETYQ_INSTRUMENT")
    if environment and environment.strip():
        return environment.split()  # no resource name has a space in it
    return [str(line) for line in config.getini("safetyq_instrument")]


def bench_file(config: pytest.Config) -> Path | None:
    """Return the bench file; what the ini file says is relative to it."""
    given = config.getoption("safetyq_bench") or os.environ.get("SAFETYQ_BENCH")
    if given:
        return Path(config.invocation_params.dir) / given
    ini = config.getini("safetyq_bench")
    if not ini:
        return None
    return (config.inipath.parent if config.inipath else config.rootpath) / str(ini)


def visa_library(config: pytest.Config) -> tuple[str | None, str | None]:
    """Return the library of the command line, and that of the environment or the ini file."""
    given: str | None = config.getoption("safetyq_visa")
    default = os.environ.get("PYVISA_LIBRARY") or str(config.getini("safetyq_visa") or "")
    return given or None, default or None


def safe_state_scope(config: pytest.Config) -> Any:
    """Return at the end of which scope the safe state is sent.

    Raises:
        pytest.UsageError: The ini value is none.
    """
    scope = str(config.getini("safetyq_scope"))
    if scope not in SCOPES:
        raise pytest.UsageError(
            f"ini safetyq_scope: {scope!r} is no scope; write one of {', '.join(SCOPES)}"
        )
    return scope


def report_files(config: pytest.Config) -> Sequence[str]:
    """Return the files of ``--safetyq-report``."""
    files: list[str] | None = config.getoption("safetyq_report")
    return files or []
