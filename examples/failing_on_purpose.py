"""Tests that fail while the output is on. ``make demo`` runs them and looks at what is left.

None of them cleans up. The file's name keeps it out of ``pytest examples``; run it with
``pytest examples/failing_on_purpose.py``.
"""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from pytest_safetyq import AsyncInstrument, Instrument


@pytest.fixture
def slow_teardown() -> Iterator[None]:
    yield
    time.sleep(3)


def test_assertion(instrument: Instrument, slow_teardown: None) -> None:
    instrument.write(":OUTP ON")
    assert float(instrument.query(":MEAS:VOLT?")) > 1e6, "asserts nothing about safety"


def test_exception(instrument: Instrument) -> None:
    instrument.write(":OUTP ON")
    raise RuntimeError("something else went wrong")


@pytest.mark.asyncio
async def test_async_assertion(async_instrument: AsyncInstrument) -> None:
    await async_instrument.write(":OUTP ON")
    assert await async_instrument.query(":OUTP?") == "nothing of the kind"


@pytest.fixture
def broken_fixture(instrument: Instrument) -> None:
    instrument.write(":OUTP ON")
    raise OSError("the set-up failed after the output went on")


def test_set_up(broken_fixture: None) -> None:
    raise AssertionError("never reached")


@pytest.mark.skipif("SAFETYQ_DEMO_KILL" not in os.environ, reason="kills the whole run")
def test_killed(instrument: Instrument) -> None:
    instrument.write(":OUTP ON")
    os.kill(os.getpid(), signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
