"""Gathering the evidence where the reports arrive, and writing it at the end of the run."""

import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_safetyq.plugin import options
from pytest_safetyq.plugin.distributed import EVIDENCE, WORKER
from pytest_safetyq.plugin.evidence.model import RunEvidence
from pytest_safetyq.plugin.evidence.parcels import unpack_test, unpack_worker
from pytest_safetyq.plugin.evidence.summary import summary_lines
from pytest_safetyq.plugin.evidence.trace import write_trace
from pytest_safetyq.plugin.evidence.writers import Writer, check_place, writer_for


class Reporting:
    """Registered with pytest in the process that the user sees; under xdist the controller.

    Args:
        config: pytest's.
        evidence: What is gathered.

    Raises:
        pytest.UsageError: A report can't be written to the file that was named.
    """

    def __init__(self, config: pytest.Config, evidence: RunEvidence) -> None:
        self._evidence = evidence
        self._unwritten: list[str] = []
        self._writers: list[tuple[Writer, Path]] = []
        trace = config.getoption("safetyq_trace")
        try:
            for file in options.report_files(config):
                # Absolute: a test may leave the process in another folder.
                self._writers.append((writer_for(file), Path(file).absolute()))
            if trace:
                check_place("--safetyq-trace", trace)
                self._writers.append((write_trace, Path(trace).absolute()))
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the evidence that comes with the last report of a test."""
        parcel = getattr(report, EVIDENCE, None)
        if parcel is not None:
            unpack_test(parcel, self._evidence)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker of xdist knew when it ended."""
        parcel = getattr(node, "workeroutput", {}).get(WORKER)
        if parcel is not None:
            unpack_worker(parcel, self._evidence)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Write the reports; a run that isn't safe, or whose evidence is lost, has failed."""
        try:
            result = yield
        except BaseException:
            # A finalizer has raised after the run was cut short: pytest prints no summary.
            self._write(session)
            self._show(sys.stderr.write)
            raise
        self._write(session)
        if not session.config.pluginmanager.hasplugin("terminalreporter"):
            self._show(sys.stderr.write)
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the section with the safety dispatches."""
        if self._lines:
            terminalreporter.section("safetyq")
            for line in self._lines:
                terminalreporter.write_line(line)

    @property
    def _lines(self) -> list[str]:
        return [*summary_lines(self._evidence), *self._unwritten]

    def _show(self, write: Callable[[str], object]) -> None:
        for line in self._lines:
            write(f"safetyq: {line}\n")

    def _write(self, session: pytest.Session) -> None:
        for write, path in self._writers:
            try:
                write(self._evidence, path)
            except (OSError, UnicodeError) as error:
                self._unwritten.append(f"{path} could not be written: {error}")
        failed = bool(self._evidence.unconfirmed or self._unwritten)
        if failed and session.exitstatus in (
            pytest.ExitCode.OK,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        ):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
