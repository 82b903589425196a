"""A run that is cut short still says what it did, and that everything is off."""

from __future__ import annotations

import pytest
from projects import Suite

ENDINGS = {
    "Ctrl-C": "raise KeyboardInterrupt",
    "pytest.exit": "pytest.exit('enough')",
    "quitting the debugger": "assert False",
}
OPTIONS = ["--safetyq-report=report.json", "--safetyq-report=report.html"]


def source(ending: str, place: str = "test") -> str:
    lines = {"fixture": "pass", "test": "pass", "teardown": "pass", place: ending}
    return f"""
import pytest

@pytest.fixture
def powered(instrument):
    instrument.write(":OUTP ON")
    {lines["fixture"]}
    yield
    {lines["teardown"]}

def test_it(powered, instrument):
    {lines["test"]}
"""


@pytest.fixture(params=ENDINGS.values(), ids=ENDINGS.keys())
def cut_short(request: pytest.FixtureRequest, suite: Suite) -> str:
    if request.param == "assert False":
        suite.environment["PYTEST_ADDOPTS"] = "--pdb"  # the end of its input quits it
    return str(request.param)


@pytest.mark.parametrize("place", ["fixture", "test", "teardown"])
def test_the_evidence_of_the_cut_test_is_kept(suite: Suite, cut_short: str, place: str) -> None:
    suite.write(source(cut_short, place))
    ended = suite.run(*OPTIONS)
    assert ended.returncode != 0
    assert "Traceback" not in ended.stdout + ended.stderr
    assert "safety dispatches" in ended.stdout
    assert "smu CONFIRMED" in ended.stdout
    (test,) = suite.report()["tests"]
    assert test["nodeid"] == "test_it.py::test_it"
    assert all(report["confirmed"] for report in test["estops"])
    assert test["estops"]
    page = (suite.directory / "report.html").read_text(encoding="utf-8")
    assert "No safe state was asked for" not in page


def test_unconfirmed_is_said_without_a_traceback(
    suite: Suite, lying: list[str], cut_short: str
) -> None:
    suite.write(source(cut_short))
    ended = suite.run(*lying, *OPTIONS)
    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr
    assert "smu: off UNCONFIRMED after 3 attempts" in ended.stdout
    found = suite.report()
    assert any("UNCONFIRMED" in line for line in found["unconfirmed"])


def test_a_finalizer_that_fails_after_the_interrupt_costs_no_evidence(suite: Suite) -> None:
    suite.write(source("raise KeyboardInterrupt").replace("    pass\n\ndef", "    1 / 0\n\ndef"))
    ended = suite.run(*OPTIONS)
    assert "ZeroDivisionError" in ended.stderr
    assert "smu CONFIRMED" in ended.stderr
    assert (suite.directory / "report.json").exists()


def test_a_worker_that_is_cut_short_brings_its_evidence_home(suite: Suite) -> None:
    suite.write(source("pytest.exit('enough')"))
    ended = suite.run(*OPTIONS, "-n", "1")
    assert "safety dispatches" in ended.stdout
    assert (suite.directory / "report.json").exists()


def test_without_a_terminal_reporter_unconfirmed_is_said_all_the_same(
    suite: Suite, lying: list[str]
) -> None:
    suite.write("def test_it(instrument):\n    instrument.write(':OUTP ON')\n")
    ended = suite.run(*lying, "-p", "no:terminal")
    assert ended.returncode == 1
    assert "smu: off UNCONFIRMED after 3 attempts" in ended.stderr
