"""A project that merely has the plugin installed loads none of the bench."""

from __future__ import annotations

from projects import Suite

HEAVY = ("pyvisa", "asyncio", "yaml", "msgspec", "serial", "filelock", "sim_instruments")

SOURCE = f"""
import sys

def test_nothing_heavy_is_loaded():
    heavy = {HEAVY!r}
    loaded = sorted(n for n in sys.modules if n.split(".")[0] in heavy)
    assert loaded == []
    ours = sorted(n for n in sys.modules if n.startswith("pytest_safetyq"))
    assert [n for n in ours if ".bench" in n or ".dispatcher" in n or ".scheduling" in n] == []
    assert "pytest_safetyq.plugin.entry" in ours
"""


def test_a_project_without_instruments_loads_nothing_heavy(suite: Suite) -> None:
    # pytest-asyncio brings asyncio, and hypothesis and xdist bring more: they are switched off.
    (suite.directory / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    suite.environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    suite.write(SOURCE)
    ended = suite.run("-p", "pytest_safetyq.plugin.entry")
    assert ended.returncode == 0, ended.stdout


def test_a_project_without_instruments_starts_no_supervisor(suite: Suite) -> None:
    suite.write("def test_it():\n    assert True\n")
    ended = suite.run()
    assert ended.returncode == 0
    assert "safetyq:" not in ended.stdout
    assert list(suite.directory.parent.glob("run/run-*")) == []


def test_importing_the_package_loads_nothing(suite: Suite) -> None:
    suite.write(
        "import subprocess, sys\n"
        "def test_it():\n"
        "    code = 'import sys, pytest_safetyq; '\\\n"
        "           'print([m for m in sys.modules if m.startswith(\"pytest_safetyq.\")])'\n"
        "    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)\n"
        "    assert out.stdout.strip() == '[]'\n"
    )
    assert suite.run().returncode == 0
