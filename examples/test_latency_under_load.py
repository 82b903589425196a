"""The safety dispatch latency, asserted in the suite itself, behind 200 queued polls."""

import pytest

from pytest_safetyq import Instrument, Priority
from pytest_safetyq.bench import Safety


@pytest.mark.safety_latency(max_ms=100)
def test_off_overtakes_two_hundred_polls(instrument: Instrument) -> None:
    instrument.write(":OUTP ON")
    polls = [instrument.submit(":MEAS:VOLT?", priority=Priority.POLL) for _ in range(200)]

    report = instrument.estop("the device under test is too hot")

    assert report.confirmed
    answered = [poll for poll in polls if poll.done() and poll.exception() is None]
    assert len(answered) < 100, "the E-stop waited for the backlog"


@pytest.mark.safety_latency(max_ms=100, percentile=99, min_samples=50)
def test_every_stage_is_measured(safety: Safety) -> None:
    stats = safety.probe(samples=50, backlog=200)
    assert stats.queue_wait.n == stats.confirmed_off.n == 50
    assert stats.over_bound == 0
