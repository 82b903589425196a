"""Off that can't be read back: loud, and the run doesn't go on with it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from projects import Suite, Witness, left_behind

SOURCE = """
def test_first(instrument):
    instrument.write(":OUTP ON")

def test_second(instrument):
    raise AssertionError("must not be reached")

def test_without_an_instrument():
    pass
"""


def test_a_pass_with_an_output_that_stays_on_is_an_error(
    suite: Suite, lying: list[str], runtime_dir: Path
) -> None:
    suite.write(SOURCE)
    ended = suite.run(*lying)
    assert ended.returncode == 1
    assert "2 passed, 2 errors" in ended.stdout
    assert "SafeStateUnconfirmed" in ended.stdout
    assert "smu: off UNCONFIRMED after 3 attempts (:OUTP? answered '1')" in ended.stdout
    assert "must not be reached" not in ended.stdout
    assert left_behind(runtime_dir) == []


def test_off_is_tried_three_times(suite: Suite, lying: list[str], witness: Witness) -> None:
    suite.write("def test_it(instrument):\n    assert not instrument.estop().confirmed\n")
    suite.run(*lying)
    assert [m for m in witness.messages() if m == ":OUTP OFF"][:3] == [":OUTP OFF"] * 3


def test_a_run_that_only_passes_is_not_green(suite: Suite, lying: list[str]) -> None:
    suite.write("def test_it(instrument):\n    instrument.write(':OUTP ON')\n")
    ended = suite.run(*lying, "-o", "safetyq_scope=session")
    assert ended.returncode == 1
    assert "UNCONFIRMED" in ended.stdout


def test_the_death_of_the_test_process_says_unconfirmed_too(suite: Suite, lying: list[str]) -> None:
    suite.write(
        "import os\ndef test_it(instrument):\n    instrument.write(':OUTP ON')\n    os._exit(0)\n"
    )
    ended = suite.run(*lying)
    assert "off UNCONFIRMED" in ended.stderr


def test_the_supervisors_death_fails_the_run(suite: Suite) -> None:
    suite.write(
        "import os, signal\n"
        "from pytest_safetyq.bench import endpoint\n"
        "def test_it(instrument):\n"
        "    (found,) = endpoint.discover()\n"
        "    os.kill(found.pid, signal.SIGTERM if os.name == 'nt' else signal.SIGKILL)\n"
    )
    ended = suite.run()
    assert ended.returncode == 1
    # Which of the two is seen first, the end of its answers or that nothing can be sent.
    lost = ("the connection to the supervisor is lost", "the supervisor can't be reached")
    assert any(words in ended.stdout for words in lost), ended.stdout
    assert "UNCONFIRMED" in ended.stdout
    assert "INTERNALERROR" not in ended.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_a_supervisor_that_stopped_answering_is_asked_once_and_not_by_every_test(
    suite: Suite, witness: Witness
) -> None:
    suite.write(
        "import os, signal, pytest\n"
        "from pytest_safetyq.bench import endpoint\n"
        "def test_first(instrument):\n"
        "    instrument.write(':OUTP ON')\n"
        "    (found,) = endpoint.discover()\n"
        "    os.kill(found.pid, signal.SIGSTOP)\n"
        "    assert False\n"
        "@pytest.mark.parametrize('n', range(20))\n"
        "def test_later(instrument, n):\n    raise AssertionError('must not be reached')\n"
    )
    begun = time.monotonic()
    ended = suite.run("--tb=line")
    assert time.monotonic() - begun < 60.0
    assert ended.returncode == 1
    assert "1 failed, 21 errors" in ended.stdout
    assert "does not answer" in ended.stdout
    assert "must not be reached" not in ended.stdout
    # It is let go on at the end of the run, and does what it was asked.
    witness.wait_until_off()
