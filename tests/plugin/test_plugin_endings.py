"""However a test ends, the output goes off and is read back: by the witness, in a subprocess."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from projects import Suite, Witness, left_behind

BEGINNING = """
import ctypes, os, signal, sys, time
import pytest

def test_it(instrument):
    instrument.write(":OUTP ON")
    assert instrument.query(":OUTP?") == "1"
"""

CALL = {
    "assertion": "    assert False",
    "exception": "    raise RuntimeError('something else')",
    "skip": "    pytest.skip('half-way')",
    "xfail": "    pytest.xfail('known')",
    "pytest.exit": "    pytest.exit('enough')",
    "SystemExit": "    sys.exit(3)",
    "KeyboardInterrupt": "    raise KeyboardInterrupt",
    "pass": "    pass",
}

DEATH = {
    "kill -9": "    os.kill(os.getpid(), signal.SIGKILL)",
    # Whoever runs the tests may have them ignored (nohup): that is inherited.
    "SIGTERM": "    signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
    "    os.kill(os.getpid(), signal.SIGTERM)",
    "SIGHUP": "    signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    "    os.kill(os.getpid(), signal.SIGHUP)",
    "os._exit": "    os._exit(0)",
    "segfault": "    ctypes.string_at(0)",
    "abort": "    os.abort()",
}


@pytest.mark.parametrize("ending", CALL.values(), ids=CALL.keys())
def test_an_ending_inside_pytest_leaves_the_output_off(
    suite: Suite, witness: Witness, runtime_dir: Path, ending: str
) -> None:
    suite.write(BEGINNING + ending)
    suite.run()
    assert witness.was_on
    assert witness.is_off_and_read_back, witness.messages()
    assert left_behind(runtime_dir) == []


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("ending", DEATH.values(), ids=DEATH.keys())
def test_the_death_of_the_test_process_leaves_the_output_off(
    suite: Suite, witness: Witness, runtime_dir: Path, ending: str
) -> None:
    suite.write(BEGINNING + ending)
    ended = suite.run("-p", "no:faulthandler")
    witness.wait_until_off()
    assert witness.was_on
    assert left_behind(runtime_dir) == []
    assert "ended without a goodbye: smu: off CONFIRMED" in ended.stderr


ELSEWHERE = {
    "set-up": """
import pytest

@pytest.fixture
def broken(instrument):
    instrument.write(":OUTP ON")
    raise OSError("in the set-up")

def test_it(broken):
    pass
""",
    "set-up without a fixture of ours in the test": """
import pytest

@pytest.fixture
def broken(request):
    request.getfixturevalue("instrument").write(":OUTP ON")
    raise OSError("in the set-up")

def test_it(broken):
    pass
""",
    "teardown": """
import pytest

@pytest.fixture
def broken(instrument):
    yield
    instrument.write(":OUTP ON")
    raise OSError("in the teardown")

def test_it(broken):
    pass
""",
    "dynamic": """
def test_it(request):
    request.getfixturevalue("instrument").write(":OUTP ON")
    assert False
""",
    "async": """
import pytest

@pytest.mark.asyncio
async def test_it(async_instrument):
    await async_instrument.write(":OUTP ON")
    assert False
""",
    "async cancelled": """
import asyncio
import pytest

@pytest.mark.asyncio
async def test_it(async_instrument):
    await async_instrument.write(":OUTP ON")
    asyncio.current_task().cancel()
    await asyncio.sleep(10)
""",
    "soft failure": """
import pytest

@pytest.mark.xfail(strict=True)
def test_it(instrument):
    instrument.write(":OUTP ON")
""",
}


@pytest.mark.parametrize("source", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_a_failure_in_any_phase_leaves_the_output_off(
    suite: Suite, witness: Witness, source: str
) -> None:
    suite.write(source)
    ended = suite.run()
    assert ended.returncode == 1, ended.stdout
    assert witness.was_on
    assert witness.is_off_and_read_back, witness.messages()


def test_the_output_goes_off_before_a_slow_teardown(suite: Suite, witness: Witness) -> None:
    suite.write(
        """
import time
import pytest

@pytest.fixture
def slow(instrument):
    yield
    time.sleep(3)

def test_it(slow, instrument):
    instrument.write(":OUTP ON")
    assert "nothing about safety" == ""
"""
    )
    suite.run()
    (time_on_s,) = witness.time_on_s()
    assert time_on_s < 1.5


def test_the_output_goes_off_before_the_traceback_is_rendered(
    suite: Suite, witness: Witness
) -> None:
    suite.write(
        """
import time

class SlowToShow:
    def __repr__(self):
        time.sleep(3)
        return "at last"

def test_it(instrument):
    slow = SlowToShow()
    instrument.write(":OUTP ON")
    raise ValueError(slow)
"""
    )
    suite.run("--showlocals")
    (time_on_s,) = witness.time_on_s()
    assert time_on_s < 1.5


def test_the_next_test_finds_the_bench_rearmed_and_off(suite: Suite, witness: Witness) -> None:
    suite.write(
        """
def test_first(instrument):
    instrument.write(":OUTP ON")
    assert False

def test_second(instrument):
    assert not instrument.latched
    assert instrument.query(":OUTP?") == "0"
"""
    )
    ended = suite.run()
    assert "1 failed, 1 passed" in ended.stdout


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is a signal of Unix here")
def test_a_real_interrupt_leaves_the_output_off(suite: Suite, witness: Witness) -> None:
    suite.write(
        BEGINNING
        + "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        + f"    os.kill(os.getpid(), {int(signal.SIGINT)})\n    time.sleep(10)"
    )
    ended = suite.run()
    assert ended.returncode == 2
    assert witness.was_on
    assert witness.is_off_and_read_back
    (time_on_s,) = witness.time_on_s()
    assert time_on_s < 5.0


def test_a_fork_of_the_test_process_does_not_keep_the_bench_armed(
    suite: Suite, witness: Witness
) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    suite.write(
        BEGINNING
        + """
    if os.fork() == 0:
        time.sleep(15)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    suite.environment["PYTHONWARNINGS"] = "ignore::DeprecationWarning"
    started = suite.run_detached()
    started.wait(30)
    witness.wait_until_off()
    (time_on_s,) = witness.time_on_s()
    assert time_on_s < 10.0
