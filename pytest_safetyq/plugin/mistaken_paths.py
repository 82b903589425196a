"""pytest mistakes what follows an option of a plugin for the path of a test.

It looks for its root directory and its ini file before plugins have registered their options.
``--safetyq-bench ../lab/bench.yaml`` makes it look in ``../lab``: the project's ini file is not
found, what it says of the bench is lost, and a run on real hardware becomes a simulated one.
``--safetyq-bench=../lab/bench.yaml`` doesn't.
"""

import itertools
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

OPTIONS = frozenset(
    {
        "--instrument",
        "--safetyq-instrument",
        "--safetyq-bench",
        "--safetyq-visa",
        "--safetyq-model",
        "--safetyq-report",
        "--safetyq-trace",
    }
)
"""The options that take a value."""


def forget_instrument_as_path(args: Sequence[str], paths: list[str]) -> None:
    """Remove from ``paths`` what follows a bare ``--instrument`` in ``args``.

    pytest looks for conftest files too before ``--instrument`` is registered.
    """
    for option, value in itertools.pairwise(args):
        if option == "--instrument" and value in paths:
            paths.remove(value)


def moved_root(config: pytest.Config, paths: Iterable[str]) -> str | None:
    """Return what to say if such a value has led pytest to another root directory.

    Args:
        config: pytest's, as it is before conftest files are loaded.
        paths: The paths of tests that the user has really given.
    """
    if config.known_args_namespace.inifilename:
        return None
    here = Path(config.invocation_params.dir)
    right = _common_folder(here, paths) or here
    for option, value in itertools.pairwise(_arguments(config)):
        if option not in OPTIONS or value.startswith("-"):
            continue
        mistaken = _common_folder(here, [value])
        if mistaken is None:
            continue
        searched = _common_folder(here, [*paths, value]) or here
        # pytest searches upwards: from below the right folder it comes past that one, too.
        if not (searched.is_relative_to(right) and right.is_relative_to(config.rootpath)):
            return (
                f"{option} {value}: pytest takes this for the path of a test, and its root"
                f" directory is now {config.rootpath}; write {option}={value}"
            )
    return None


def _arguments(config: pytest.Config) -> list[str]:
    """Return what pytest looked at: the command line and the environment, not the ini file."""
    environment = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    return [*environment, *map(str, config.invocation_params.args)]


def _common_folder(here: Path, paths: Iterable[str]) -> Path | None:
    """Return the innermost folder that holds all of ``paths`` that exist; None if none does."""
    folders = []
    for path in paths:
        absolute = Path(os.path.abspath(here / path.split("::")[0]))
        try:
            if absolute.exists():
                folders.append(absolute if absolute.is_dir() else absolute.parent)
        except (OSError, ValueError):
            continue  # too long, or no path at all: pytest doesn't take it for one either
    try:
        return Path(os.path.commonpath(folders)) if folders else None
    except ValueError:  # two drives of Windows
        return None
