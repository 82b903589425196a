"""The controller of xdist: it runs no tests, and loads the bench only when evidence arrives."""

from typing import Any

import pytest

from pytest_safetyq.plugin.state import RUNTIME, runtime_of

EVIDENCE = "safetyq_evidence"
"""The attribute of a test's report that carries its evidence."""

WORKER = "safetyq_worker"
"""The key under which a worker hands over what it knows at its end."""


class Controller:
    """Registered with pytest where xdist distributes the tests.

    Args:
        config: pytest's.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Begin to report when the first evidence arrives."""
        if hasattr(report, EVIDENCE) and RUNTIME not in self._config.stash:
            runtime_of(self._config)
            # The reporting was registered too late for this very report.
            self._reporting.pytest_runtest_logreport(report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Begin to report when a worker that used the bench has ended."""
        if WORKER in getattr(node, "workeroutput", {}) and RUNTIME not in self._config.stash:
            runtime_of(self._config)
            self._reporting.pytest_testnodedown(node)

    @property
    def _reporting(self) -> Any:
        return self._config.pluginmanager.getplugin("safetyq-reports")
