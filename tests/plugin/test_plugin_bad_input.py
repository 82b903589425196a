"""Bad input: one line that says what, where and what would be right; nothing left running."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Suite, left_behind

USES = "def test_it(instrument):\n    pass\n"


def error_lines(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("ERROR: ")]


USAGE = {
    "no such hardware": (["--instrument=GPIB0::5"], ["GPIB0::5::INSTR", "found instead"]),
    "closed port": (["--instrument=TCPIP::127.0.0.1::9::SOCKET"], ["127.0.0.1", "refused"]),
    "not in the simulation": (
        ["--instrument=GPIB0::17", "--safetyq-visa=@sim"],
        ["no address GPIB0::17::INSTR", "GPIB0::5::INSTR"],
    ),
    "unparsable": (["--instrument=garbage"], ["'garbage' is no resource name", "GPIB0::5::INSTR"]),
    "empty": (["--instrument="], ["names no resource", "[NAME=]RESOURCE"]),
    "twice": (
        ["--instrument=a=GPIB0::5", "--instrument=a=GPIB0::6"],
        ["'a' is named twice"],
    ),
    "model": (
        ["--instrument=GPIB0::5", "--safetyq-model=keithly-2400"],
        ["--safetyq-model", 'did you mean "keithley-2400"?'],
    ),
    "model beside a bench that has its own": (
        ["--safetyq-visa=@sim", "--safetyq-model=keithly-2400"],
        ["--safetyq-model", 'did you mean "keithley-2400"?'],
    ),
    "bench file missing": (["--safetyq-bench=none.yaml"], ["none.yaml: no such file"]),
    "simulation missing": (["--safetyq-visa=none.yaml@sim"], ["none.yaml", "FILE.yaml@sim"]),
    "library": (["--instrument=GPIB0::5", "--safetyq-visa=@foo"], ["@foo", "pyvisa_foo"]),
    "report": (["--safetyq-report=report.txt"], ['unknown ending ".txt"', ".html"]),
    "report folder": (["--safetyq-report=no/where.json"], ["no/where.json"]),
}


@pytest.mark.parametrize(("arguments", "words"), USAGE.values(), ids=USAGE.keys())
def test_a_wrong_command_line_is_one_line_and_status_4(
    suite: Suite, runtime_dir: Path, arguments: list[str], words: list[str]
) -> None:
    suite.write(USES)
    ended = suite.run(*arguments)
    assert ended.returncode == 4, ended.stdout + ended.stderr
    (line,) = error_lines(ended.stderr)
    for word in words:
        assert word in line
    assert "Traceback" not in ended.stdout + ended.stderr
    assert "INTERNALERROR" not in ended.stdout
    assert left_behind(runtime_dir) == []


MARKERS = {
    "unknown argument": ("safety_latency(max_s=1)", ["max_s", "max_ms=None"]),
    "negative": ("safety_latency(max_ms=-1)", ["max_ms=-1", "positive number of ms"]),
    "percentile": ("safety_latency(percentile=0)", ["percentile=0", "at most 100"]),
    "no samples": ("safety_latency(min_samples=0)", ["min_samples=0", "1 or more"]),
    "bound": ("safety_latency(within_bound=1)", ["within_bound=1", "True or False"]),
    "slack": ("safety_latency(slack_ms='5')", ["slack_ms='5'"]),
    "latency of nobody": ("safety_latency(instrument='smv')", ["'smv'", "it has smu"]),
    "instrument without a name": ("instrument", ["has no name", '("name", ...)']),
    "instrument, no text": ("instrument(5)", ["has no name"]),
    "unknown instrument": ("instrument('smv')", ["no instrument 'smv'", "it has smu"]),
    "hardware with arguments": ("hardware(True)", ["takes no arguments"]),
    "simulated with arguments": ("simulated(x=1)", ["takes no arguments"]),
}


@pytest.mark.parametrize(("marker", "words"), MARKERS.values(), ids=MARKERS.keys())
def test_a_wrong_marker_is_one_line_and_status_4(
    suite: Suite, marker: str, words: list[str]
) -> None:
    suite.write(f"import pytest\n\n@pytest.mark.{marker}\ndef test_it(instrument):\n    pass\n")
    ended = suite.run("--strict-markers")
    assert ended.returncode == 4, ended.stdout + ended.stderr
    (line,) = error_lines(ended.stderr)
    assert line.startswith("ERROR: test_it.py:")
    for word in words:
        assert word in line
    assert "Traceback" not in ended.stdout + ended.stderr


BENCHES = {
    "wrong type": (b"instruments:\n  smu:\n    resource: GPIB0::5\n    timeout_s: fast\n", ":4:"),
    "unknown key": (b"instruments:\n  smu:\n    resorce: GPIB0::5\n", "resource"),
    "duplicate name": (
        b"instruments:\n  a: {resource: GPIB0::5}\n  a: {resource: GPIB0::6}\n",
        "twice",
    ),
    "not UTF-8": (b"instruments:\n  sm\xe9: {}\n", "UTF-8"),
    "unknown model": (b"instruments:\n  a: {resource: GPIB0::5, model: nope}\n", "nope"),
    "unparsable resource": (b"instruments:\n  a: {resource: nonsense}\n", "instruments.a.resource"),
    "empty": (b"", "empty"),
}


@pytest.mark.parametrize(("content", "word"), BENCHES.values(), ids=BENCHES.keys())
def test_a_mistake_in_the_bench_file_is_one_line_and_status_4(
    suite: Suite, content: bytes, word: str
) -> None:
    (suite.directory / "bench.yaml").write_bytes(content)
    suite.write(USES)
    ended = suite.run("--safetyq-bench=bench.yaml")
    assert ended.returncode == 4, ended.stdout + ended.stderr
    (line,) = error_lines(ended.stderr)
    assert word in line
    assert "Traceback" not in ended.stdout + ended.stderr


def test_a_wrong_scope_in_the_ini_file_is_one_line(suite: Suite) -> None:
    suite.write(USES)
    ended = suite.run("-o", "safetyq_scope=class")
    assert ended.returncode != 0
    assert "safetyq_scope" in ended.stdout + ended.stderr
    assert "function, module, session" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


def test_absent_hardware_is_no_error_where_no_test_uses_it(suite: Suite) -> None:
    suite.write("def test_it():\n    pass\n")
    ended = suite.run("--instrument=GPIB0::5")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_an_unknown_name_at_run_time_says_what_the_bench_has(suite: Suite) -> None:
    suite.write("def test_it(instruments):\n    instruments['nobody']\n")
    ended = suite.run()
    assert ended.returncode == 1
    assert "the bench has no instrument 'nobody'; it has smu" in ended.stdout
    assert "pytest_safetyq/plugin" not in ended.stdout  # no traceback of the plugin's insides


def test_a_marker_that_a_wider_scope_would_ignore_is_refused(suite: Suite) -> None:
    suite.write(
        "import pytest\n\n@pytest.mark.instrument('load')\ndef test_it(instrument):\n    pass\n"
    )
    ended = suite.run("-o", "safetyq_scope=module")
    assert ended.returncode == 4, ended.stdout + ended.stderr
    (line,) = error_lines(ended.stderr)
    assert 'in a test write instruments["load"]' in line


@pytest.mark.parametrize("marker", ["safety_latency(max_s=1)", "instrument('smv')"])
def test_a_wrong_marker_under_xdist_is_an_error_of_its_test_alone(
    suite: Suite, marker: str
) -> None:
    suite.write(
        f"import pytest\n\n@pytest.mark.{marker}\ndef test_wrong(instrument):\n    pass\n"
        "def test_right(instrument):\n    pass\n"
    )
    ended = suite.run("-n", "2")
    assert ended.returncode == 1, ended.stdout
    assert "1 passed, 1 error" in ended.stdout
    assert "test_it.py:3: test_wrong: the " in ended.stdout
    assert "INTERNALERROR" not in ended.stdout


def test_a_wrong_scope_under_xdist_is_one_line_and_status_4(suite: Suite) -> None:
    suite.write(USES)
    ended = suite.run("-n", "2", "-o", "safetyq_scope=class")
    assert ended.returncode == 4
    assert "'class' is no scope; write one of function, module, session" in ended.stderr


def test_the_same_marker_on_the_module_is_taken(suite: Suite) -> None:
    suite.write(
        "import pytest\n\npytestmark = pytest.mark.instrument('load')\n\n"
        "def test_it(instrument):\n    assert instrument.name == 'load'\n"
    )
    ended = suite.run("-o", "safetyq_scope=module")
    assert ended.returncode == 0, ended.stdout + ended.stderr


OTHER_PLUGIN = """
def pytest_addoption(parser):
    parser.addoption("--instrument", action="store", default=None)
"""


def test_a_conftest_that_wants_instrument_is_told_to_rename_it(suite: Suite) -> None:
    suite.write(OTHER_PLUGIN, "conftest.py")
    suite.write(USES)
    clash = suite.run("--instrument=GPIB0::5")
    assert clash.returncode == 4, clash.stdout + clash.stderr
    (line,) = error_lines(clash.stderr)
    assert "conftest.py" in line
    assert "rename it there" in line
    assert "-p no:" not in line


@pytest.mark.parametrize("first", ["other first", "other last"])
def test_another_plugin_that_wants_instrument_is_named(suite: Suite, first: str) -> None:
    suite.write(OTHER_PLUGIN, "other_plugin.py")
    suite.write(USES)
    suite.environment["PYTHONPATH"] = str(suite.directory)
    if first == "other first":
        arguments = ["-p", "other_plugin"]
    else:
        arguments = ["-p", "pytest_safetyq.plugin.entry", "-p", "other_plugin", "-p", "no:safetyq"]
    clash = suite.run(*arguments, "--instrument=GPIB0::5")
    assert clash.returncode == 4, clash.stdout + clash.stderr
    (line,) = error_lines(clash.stderr)
    assert "other_plugin" in line
    assert "-p no:other_plugin" in line
    assert "--safetyq-instrument" in line
    same = suite.run(*arguments, "--safetyq-instrument=GPIB0::5", "--safetyq-visa=@sim")
    assert same.returncode == 0, same.stdout + same.stderr
