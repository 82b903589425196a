"""Where the state of a run is kept: on the pytest config, under typed keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_safetyq.plugin.runtime import Runtime

RUNTIME: pytest.StashKey[Runtime] = pytest.StashKey()

STDERR: pytest.StashKey[int] = pytest.StashKey()
"""A descriptor of the standard error that the user sees, captured or not."""


def runtime_of(config: pytest.Config) -> Runtime:
    """Return the state of this run; the first call loads the bench and registers the hooks.

    Raises:
        pytest.UsageError: What the user has named can't be.
    """
    runtime = config.stash.get(RUNTIME, None)
    if runtime is None:
        from pytest_safetyq.plugin.hooks import Hooks
        from pytest_safetyq.plugin.reporting import Reporting
        from pytest_safetyq.plugin.runtime import Runtime

        runtime = config.stash[RUNTIME] = Runtime(config)
        # In this order: of two wrappers that want to be innermost, the one registered later is,
        # and the bench is closed before the reports are written.
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Reporting(config, runtime.evidence), "safetyq-reports")
        config.pluginmanager.register(Hooks(config, runtime), "safetyq-hooks")
    return runtime
