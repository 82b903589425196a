"""Every E-stop is in the evidence, whoever asked for it; each in that of one test."""

from __future__ import annotations

import pytest
from projects import Suite

BY = {
    "the instrument": "instrument.estop('by hand')",
    "the bench": "safety.estop('by hand')",
    "a watch": (
        "with instrument.watch(':OUTP?', every_s=0.01, trip_when=lambda reply: True):\n"
        "        while not instrument.latched:\n            time.sleep(0.005)"
    ),
    "another terminal": (
        "command = 'from pytest_safetyq.cli import main; raise SystemExit(main([\"estop\"]))'\n"
        "    subprocess.run([sys.executable, '-c', command], check=True)"
    ),
}


@pytest.mark.parametrize("by", BY.values(), ids=BY.keys())
def test_an_e_stop_is_in_the_evidence_of_its_test(suite: Suite, by: str) -> None:
    suite.write(
        "import subprocess, sys, time\n"
        "def test_before(instrument):\n    pass\n"
        f"def test_it(instrument, safety):\n    {by}\n"
        "def test_after(instrument):\n    pass\n"
    )
    ended = suite.run("--safetyq-report=report.json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    document = suite.report()
    reasons = {
        test["nodeid"].partition("::")[2]: [report["reason"] for report in test["estops"]]
        for test in document["tests"]
    }
    assert reasons["test_before"] == reasons["test_after"] == ["end of the function"]
    assert len(reasons["test_it"]) >= 2
    assert reasons["test_it"][-1] == "end of the function"
    assert [report["reason"] for report in document["endings"]] == ["end of the run"]


def test_what_was_not_confirmed_by_hand_fails_the_run(suite: Suite, lying: list[str]) -> None:
    """Also where nobody looked at the report that the E-stop gave."""
    suite.write(
        "def test_it(instrument):\n    instrument.write(':OUTP ON')\n    instrument.estop()\n"
    )
    ended = suite.run(*lying, "--safetyq-report=report.json")
    assert ended.returncode == 1
    assert any("UNCONFIRMED" in line for line in suite.report()["unconfirmed"])
