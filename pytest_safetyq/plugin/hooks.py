"""The hooks around each test: the E-stop at the instant of a failure, and the evidence."""

from collections.abc import Generator
from typing import Any

import msgspec
import pytest

from pytest_safetyq.plugin import junit, markers
from pytest_safetyq.plugin.collection import uses_bench
from pytest_safetyq.plugin.distributed import EVIDENCE, UNCONFIRMED
from pytest_safetyq.plugin.evidence.model import TestEvidence
from pytest_safetyq.plugin.latency import breach
from pytest_safetyq.plugin.runtime import Runtime


class Hooks:
    """Registered with pytest when a run uses the bench.

    The wrappers are the innermost ones (``trylast``): they see an exception before anybody
    renders its traceback, and long before a fixture is torn down.

    Args:
        config: pytest's.
        runtime: The state of the run.
    """

    def __init__(self, config: pytest.Config, runtime: Runtime) -> None:
        self._config = config
        self._runtime = runtime
        self._outcomes: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Open what the user has named before the first test, if any test uses it.

        The controller of xdist runs no tests, and in a worker a usage error would look like
        a crash: there each test says for itself that its instrument is missing.
        """
        if self._config.option.collectonly or self._distributed:
            return
        if any(uses_bench(item) for item in session.items):
            self._runtime.open_named()

    @property
    def _distributed(self) -> bool:
        return hasattr(self._config, "workerinput") or self._config.pluginmanager.hasplugin(
            "dsession"
        )

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Rearm before a test; trip when its set-up fails. A skip there is no failure."""
        self._runtime.begin_test(item.nodeid)
        if uses_bench(item):
            self._runtime.make_ready()
        try:
            return (yield)
        except pytest.skip.Exception:
            raise
        except BaseException as error:
            self._trip(item, "setup", error)
            raise

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Trip when the test raises anything, or breaks what its marker allows."""
        try:
            result = yield
            self._check_latency(item)
        except BaseException as error:
            self._trip(item, "call", error)
            raise
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Trip when a finalizer raises."""
        try:
            return (yield)
        except BaseException as error:
            self._trip(item, "teardown", error)
            raise

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Trip on a failure that raised nothing, and hand the evidence to the report."""
        evidence: TestEvidence | None = None
        if call.when == "teardown":
            evidence = self._runtime.collect(item.nodeid)
            if evidence is not None:
                item.user_properties.extend(junit.properties(evidence))
        report = yield
        if report.failed:
            self._runtime.trip(item.nodeid, call.when, f"{item.nodeid} failed in {call.when}")
        if report.outcome != "passed":
            self._outcomes.setdefault(item.nodeid, report.outcome)
        if evidence is not None:
            outcome = self._outcomes.pop(item.nodeid, "passed")
            found = {"test": msgspec.to_builtins(evidence), "outcome": outcome}
            setattr(report, EVIDENCE, found)
        return report

    def pytest_keyboard_interrupt(self) -> None:
        """Trip, wherever pytest was when it was interrupted."""
        self._runtime.trip("", "interrupt", "the run was interrupted")

    def pytest_internalerror(self) -> None:
        """Trip: nobody knows what pytest still does after this."""
        self._runtime.trip("", "error", "internal error of pytest or a plugin")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Close the bench, after the last finalizer."""
        self._runtime.close()
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[UNCONFIRMED] = self._runtime.evidence.unconfirmed

    def pytest_unconfigure(self) -> None:
        """Close the bench if the session never finished."""
        self._runtime.close()

    def _trip(self, item: pytest.Item, phase: str, error: BaseException) -> None:
        why = f"{item.nodeid}: {type(error).__name__} in {phase}"
        self._runtime.trip(item.nodeid, phase, why)

    def _check_latency(self, item: pytest.Item) -> None:
        marks = markers.latency_marks(item)
        if not marks:
            return
        records = self._runtime.records
        for mark in marks:
            what = breach(mark, records)
            if what is not None:
                pytest.fail(what, pytrace=False)
