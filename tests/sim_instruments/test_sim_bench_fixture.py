"""The fixture `sim_bench` as a user's project has it."""

from __future__ import annotations

import sys

import pytest
from projects import Suite

PASSES = """
import pyvisa

def test_it(sim_bench):
    smu = pyvisa.ResourceManager("@py").open_resource(
        sim_bench.resource_name("smu"), read_termination="\\n", write_termination="\\n"
    )
    assert smu.query("OUTP ON;OUTP?") == "1"
    assert [entry.output for entry in sim_bench.witness()] == [{"1": True}]
    print("PORT", sim_bench.control.port)
    smu.close()

def test_the_next_test_gets_a_fresh_one(sim_bench):
    assert sim_bench.control.state("smu").output == {"1": False}
    assert sim_bench.witness() == []
"""

MARKED = """
import pytest

@pytest.mark.sim_bench("own.yaml", seed=4)
def test_own_file(sim_bench):
    assert sim_bench.names == ["meter"]
    assert sim_bench.announcement["seed"] == 4

@pytest.mark.sim_bench(wire="socket")
def test_misspelt(sim_bench):
    pass

@pytest.mark.sim_bench("none.yaml")
def test_missing(sim_bench):
    pass
"""

OWN = """
spec: "1.1"
devices:
  meter: {scpi: {role: meter}}
resources:
  GPIB0::5::INSTR: {device: meter}
"""


def test_a_project_needs_nothing_but_the_fixtures_name(suite: Suite) -> None:
    suite.write(PASSES)
    ended = suite.run("--strict-markers")
    assert ended.returncode == 0, ended.stdout
    assert "2 passed" in ended.stdout


def test_the_marker_says_what_is_served_and_a_mistake_in_it_what_is_right(suite: Suite) -> None:
    suite.write(MARKED)
    suite.write(OWN, "own.yaml")
    ended = suite.run("--strict-markers")
    assert ended.returncode == 1
    assert "1 passed, 2 errors" in ended.stdout
    assert "'wire'; the right form is @pytest.mark.sim_bench(" in ended.stdout
    assert "none.yaml" in ended.stdout


def test_it_is_listed_with_the_fixtures(suite: Suite) -> None:
    ended = suite.run("--fixtures")
    assert "sim_bench -- " in ended.stdout
    assert "A bench of simulated instruments on real wires" in ended.stdout
    assert "@pytest.mark.sim_bench(*files, wires=" in suite.run("--markers").stdout


def test_a_run_that_uses_no_bench_imports_nothing_heavy(suite: Suite) -> None:
    (suite.directory / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    suite.environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    suite.write(
        "import sys\n"
        "def test_it():\n"
        "    heavy = ('pyvisa', 'asyncio', 'yaml', 'msgspec', 'serial', 'subprocess')\n"
        "    new = {n.split('.')[0] for n in sys.modules} & set(heavy)\n"
        "    assert new - {'subprocess'} == set()\n"
        "    ours = {n for n in sys.modules if n.startswith('sim_instruments')}\n"
        "    assert ours == {'sim_instruments', 'sim_instruments.pytest_plugin',\n"
        "                    'sim_instruments.entry', 'sim_instruments.witness'}\n"
    )
    ended = suite.run("-p", "sim_instruments.pytest_plugin")
    assert ended.returncode == 0, ended.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_the_bench_file_works_with_the_plugin(suite: Suite) -> None:
    suite.write(
        "import pytest, subprocess, sys\n"
        "@pytest.mark.parametrize('wire', ['socket', 'serial'])\n"
        "def test_it(wire):\n"
        "    from sim_instruments.sim_bench import SimBench\n"
        "    with SimBench(wires=[wire]) as bench:\n"
        "        command = [sys.executable, '-m', 'pytest', '--safetyq-check',\n"
        "                   f'--safetyq-bench={bench.bench_file}']\n"
        "        ended = subprocess.run(command, capture_output=True, text=True)\n"
        "        assert ended.returncode == 0, ended.stdout + ended.stderr\n"
        "        asked = [e.message for e in bench.witness() if e.instrument == 'smu']\n"
        "        assert ':OUTP OFF' in asked and asked[-1] == ':OUTP?', asked\n"
    )
    ended = suite.run()
    assert ended.returncode == 0, ended.stdout
