"""pytest takes the value after an option of a plugin for the path of a test, and looks there.

The options of this plugin aren't registered when pytest looks for its ini file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Suite

BENCH = "instruments: {psu: {resource: 'GPIB0::6'}}\n"
TEST = "def test_it(instrument):\n    assert instrument.name == 'psu'\n"


@pytest.fixture
def project(suite: Suite) -> Suite:
    """A project whose ini file names its bench, beside a folder with a file of other people."""
    with (suite.directory / "pytest.ini").open("a", encoding="utf-8") as ini:
        ini.write("safetyq_bench = bench.yaml\nsafetyq_visa = @sim\n")
    (suite.directory / "bench.yaml").write_text(BENCH, encoding="utf-8")
    suite.write(TEST)
    return suite


@pytest.fixture
def elsewhere(project: Suite) -> Path:
    directory = project.directory.parent / "elsewhere"
    directory.mkdir()
    return directory


def test_a_report_elsewhere_does_not_lose_the_ini_and_the_bench(
    project: Suite, elsewhere: Path
) -> None:
    report = elsewhere / "report.json"
    for times in ("first", "second"):
        ended = project.run(f"--safetyq-report={report}", "test_it.py")
        assert ended.returncode == 0, (times, ended.stdout, ended.stderr)


@pytest.mark.parametrize("option", ["--safetyq-report", "--safetyq-bench", "--safetyq-trace"])
@pytest.mark.parametrize("tests", [[], ["test_it.py"]], ids=["no path", "a path"])
def test_a_value_that_moved_the_ini_is_refused(
    project: Suite, elsewhere: Path, option: str, tests: list[str]
) -> None:
    there = elsewhere / "file.json"
    there.write_text("{}", encoding="utf-8")
    ended = project.run(option, str(there), *tests)
    assert ended.returncode == 4
    (line,) = [text for text in ended.stderr.splitlines() if text.startswith("ERROR: ")]
    assert f"write {option}={there}" in line
    assert "for the path of a test" in line


def test_a_folder_named_like_an_instrument_is_refused_where_it_has_an_ini(project: Suite) -> None:
    other = project.directory / "psu"
    other.mkdir()
    (other / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    ended = project.run("--instrument", "psu")
    assert ended.returncode == 4
    assert "write --instrument=psu" in ended.stderr


def test_a_value_that_moved_nothing_is_taken(project: Suite) -> None:
    (project.directory / "report.json").write_text("{}", encoding="utf-8")
    ended = project.run("--safetyq-report", "report.json")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_an_ini_file_that_was_named_is_never_moved(project: Suite, elsewhere: Path) -> None:
    report = elsewhere / "report.json"
    report.write_text("{}", encoding="utf-8")
    ini = ["-c", "pytest.ini", "--rootdir", "."]
    ended = project.run(*ini, "--safetyq-report", str(report), "test_it.py")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_environments_options_count_too(project: Suite, elsewhere: Path) -> None:
    report = elsewhere / "report.json"
    report.write_text("{}", encoding="utf-8")
    project.environment["PYTEST_ADDOPTS"] = f"--safetyq-report '{report}'"
    ended = project.run()
    assert ended.returncode == 4
    assert f"write --safetyq-report={report}" in ended.stderr
