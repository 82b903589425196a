"""``--safetyq-list`` and ``--safetyq-check``: runs without tests."""

import pytest

from pytest_safetyq.bench.commands import check_lines, list_lines
from pytest_safetyq.plugin import options
from pytest_safetyq.plugin.runtime import selection_of


def list_all(config: pytest.Config) -> int:
    """Print the resources that are found and the profiles that are known."""
    given, default = options.visa_library(config)
    for line in list_lines(given or default or ""):
        print(line)
    return 0


def check(config: pytest.Config) -> int:
    """Open each selected instrument and prove its E-stop once; 0 only if all confirmed."""
    selection = selection_of(config)
    names = selection.named or tuple(selection.specs)
    confirmed = True
    for line, good in check_lines([selection.specs[name] for name in names]):
        print(line, flush=True)
        confirmed = confirmed and good
    return 0 if confirmed else 1
