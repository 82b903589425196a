"""The hooks around each test: the E-stop at the instant of a failure, and the evidence."""

from collections.abc import Generator
from typing import Any

import pytest

from pytest_safetyq.plugin import junit, markers
from pytest_safetyq.plugin.collection import PROBLEM, uses_bench
from pytest_safetyq.plugin.distributed import EVIDENCE, WORKER
from pytest_safetyq.plugin.evidence.model import INTERRUPTED, TestEvidence
from pytest_safetyq.plugin.evidence.parcels import pack_test, pack_worker
from pytest_safetyq.plugin.failures import explain_scope_mismatch
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
        option = self._config.option
        if option.collectonly or option.setupplan or self._distributed:
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
        if PROBLEM in item.stash:
            pytest.fail(item.stash[PROBLEM], pytrace=False)
        self._runtime.begin_test(item.nodeid)
        if uses_bench(item) or self._runtime.is_held:
            self._runtime.make_ready()
        try:
            return (yield)
        except pytest.skip.Exception:
            raise
        except BaseException as error:
            self._trip(item, "setup", error)
            explain_scope_mismatch(error)
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
            evidence = self._runtime.collect()
            if evidence is not None:
                item.user_properties.extend(junit.properties(evidence))
        report = yield
        if report.failed:
            self._runtime.trip(item.nodeid, call.when, f"{item.nodeid} failed in {call.when}")
        if report.outcome != "passed" and self._outcomes.get(item.nodeid, "passed") == "passed":
            # Provisional: an outer wrapper may still make an expected failure of it.
            failed = "failed" if call.when == "call" else "error"
            self._outcomes[item.nodeid] = failed if report.failed else report.outcome
        if call.when == "teardown":
            outcome = self._outcomes.pop(item.nodeid, "passed")
        if evidence is not None:
            setattr(report, EVIDENCE, pack_test(evidence, outcome))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep pytest's word for the outcome: it knows ``xfailed``, and what plugins add."""
        status = self._config.hook.pytest_report_teststatus(report=report, config=self._config)
        # -p no:terminal knows no words; the report of a teardown comes after the evidence.
        if status and status[0] and report.when != "teardown":
            self._outcomes[report.nodeid] = str(status[0])

    def pytest_keyboard_interrupt(self) -> None:
        """Trip, wherever pytest was when it was interrupted."""
        self._runtime.trip("", "interrupt", "the run was interrupted")

    def pytest_internalerror(self) -> None:
        """Trip: nobody knows what pytest still does after this."""
        self._runtime.trip("", "error", "internal error of pytest or a plugin")

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Close the bench, after the last finalizer, whatever that raises."""
        self._runtime.finish()
        try:
            return (yield)
        finally:
            # A test that was cut short has had no report of its teardown.
            cut = self._runtime.collect()
            self._runtime.close()
            self._hand_over(cut)

    def _hand_over(self, cut: TestEvidence | None) -> None:
        run = self._runtime.evidence
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            found = [pack_test(cut, INTERRUPTED)] if cut is not None else []
            output[WORKER] = pack_worker(run, found)
        elif cut is not None:
            run.add(cut, INTERRUPTED)

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
