"""What the plugin leaves alone: other people's streams, a plan, a quiet terminal."""

from __future__ import annotations

import pytest
from projects import Suite, Witness


def test_the_first_instrument_leaves_redirected_output_redirected(suite: Suite) -> None:
    suite.write(
        "import contextlib, io, sys\n"
        "def test_it(request):\n"
        "    out, err = io.StringIO(), io.StringIO()\n"
        "    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):\n"
        "        request.getfixturevalue('instrument')\n"
        "        print('kept')\n"
        "        print('this too', file=sys.stderr)\n"
        "    assert (out.getvalue(), err.getvalue()) == ('kept\\n', 'this too\\n')\n"
    )
    ended = suite.run()
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("capture", ["fd", "sys", "tee-sys", "no"])
def test_the_supervisors_last_words_reach_the_terminal(suite: Suite, capture: str) -> None:
    suite.write("import os\ndef test_it(instrument):\n    os._exit(0)\n")
    ended = suite.run(f"--capture={capture}")
    assert "ended without a goodbye: smu: off CONFIRMED" in ended.stderr


def test_a_plan_opens_nothing(suite: Suite, witness: Witness) -> None:
    suite.write("def test_it(instrument):\n    pass\n")
    ended = suite.run("--setup-plan", "--instrument=smu=GPIB0::5", "--safetyq-visa=@sim")
    assert ended.returncode == 0, ended.stdout
    assert witness.entries == []


def test_a_quiet_run_says_nothing_of_a_simulated_bench(suite: Suite) -> None:
    suite.write("def test_it(instrument):\n    pass\n")
    before_the_test = suite.run("-q").stdout.partition("[100%]")[0]
    assert "safetyq" not in before_the_test


def test_a_quiet_run_says_real_all_the_same(suite: Suite) -> None:
    suite.write("def test_it():\n    pass\n")
    assert "safetyq: GPIB0::5::INSTR REAL" in suite.run("-q", "--instrument=GPIB0::5").stdout


@pytest.mark.parametrize("scope", ["module", "session"])
def test_a_fixture_of_a_wider_scope_is_told_of_safetyq_scope(suite: Suite, scope: str) -> None:
    suite.write(
        "import pytest\n"
        f"@pytest.fixture(scope={scope!r})\n"
        "def powered(instrument):\n    return instrument\n"
        "def test_it(powered):\n    pass\n"
    )
    ended = suite.run()
    assert "ScopeMismatch" in ended.stdout
    assert f"safetyq_scope = {scope}" in ended.stdout


def test_a_test_after_a_failure_is_rearmed_for_a_fixture_it_did_not_declare(suite: Suite) -> None:
    suite.write(
        "def use(request):\n    request.getfixturevalue('instrument').query('*IDN?')\n"
        "def test_first(request):\n    use(request)\n    assert False\n"
        "def test_second(request):\n    use(request)\n"
    )
    ended = suite.run("-o", "safetyq_scope=module")
    assert "1 failed, 1 passed" in ended.stdout


def test_the_outcomes_in_the_report_are_pytests_own(suite: Suite) -> None:
    suite.write(
        "import pytest\n"
        "@pytest.fixture\ndef broken(instrument):\n    instrument.write(':OUTP ON')\n    1 / 0\n"
        "def test_error(broken):\n    pass\n"
        "def test_failed(instrument):\n    assert False\n"
        "def test_xfailed(instrument):\n    pytest.xfail()\n"
        "@pytest.mark.xfail(strict=False)\ndef test_xpassed(instrument):\n    pass\n"
        "def test_skipped(instrument):\n    pytest.skip()\n"
        "def test_passed(instrument):\n    pass\n"
    )
    suite.run("--safetyq-report=report.json")
    outcomes = suite.report()["outcomes"]
    assert {nodeid.partition("::test_")[2]: outcome for nodeid, outcome in outcomes.items()} == {
        word: word for word in ("error", "failed", "xfailed", "xpassed", "skipped", "passed")
    }
