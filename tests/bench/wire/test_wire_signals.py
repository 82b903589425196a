"""A supervisor that is told to end switches everything off first, whatever it is about."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from wire_rig import Peer, Supervisor, submit

from pytest_safetyq.bench.config import Confirm, Profile, Step
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.scheduling import Priority

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]

ENDS_IN_S = 8.0
"""Seconds in which it must have ended; a budget, three sessions and a busy machine fit in."""

STUCK = """
import time
from pytest_safetyq.links import visa_session

write = visa_session.VisaSession.write

def stuck(self, payload, until_s):
    if payload.startswith(b":STUCK"):
        time.sleep(3600)
    write(self, payload, until_s)

visa_session.VisaSession.write = stuck
"""

pytestmark = pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)


def _ends(supervisor: Supervisor, number: int) -> None:
    """Send the signal; it must end by itself and leave nothing behind."""
    supervisor.process.send_signal(number)
    assert supervisor.process.wait(ENDS_IN_S) == 0, supervisor.said
    assert not Path(supervisor.endpoint.directory).exists()


def _told(supervisor: Supervisor, number: int) -> str:
    return f"safetyq: the supervisor was told to end ({signal.Signals(number).name}): smu: off"


def test_while_nobody_has_come_yet(supervisor: Supervisor, number: int) -> None:
    _ends(supervisor, number)
    assert supervisor.said == []


def test_while_a_client_is_there(supervisor: Supervisor, number: int) -> None:
    client = supervisor.client()
    _ends(supervisor, number)
    assert client.hear() is None
    assert supervisor.witness.was_on
    assert supervisor.witness.is_off_and_read_back
    assert supervisor.said == [f"{_told(supervisor, number)} CONFIRMED"]


def test_while_a_driver_is_stuck_in_a_call_that_never_returns(
    launch: Callable[..., Supervisor], number: int
) -> None:
    supervisor = launch(patch=STUCK)
    client = supervisor.client(timeout_s=0.3)
    client.say(submit(client, b":STUCK"))
    assert isinstance(client.hear(), m.Admitted)
    _ends(supervisor, number)
    assert supervisor.witness.is_off_and_read_back
    assert supervisor.said == [f"{_told(supervisor, number)} CONFIRMED"]


SLOW_OFF = Profile(
    off=(Step(send=":OUTP OFF"),), confirm=Confirm(query=":OUTP?", accept=("0",)), settle_s=0.4
)


def _estop(client: Peer) -> m.EStop:
    return m.EStop(id=client.number(), reason="smoke", submitted_s=time.monotonic())


def test_while_an_estop_is_under_way(supervisor: Supervisor, number: int) -> None:
    client = supervisor.client(profile=SLOW_OFF)
    sent = len(supervisor.witness.messages())
    client.say(_estop(client))
    supervisor.until(lambda: len(supervisor.witness.messages()) > sent, "it is under way")
    _ends(supervisor, number)
    assert supervisor.witness.messages()[sent:] == [":OUTP OFF", ":OUTP?"], "they are one"
    assert supervisor.witness.is_off_and_read_back
    assert supervisor.said == [f"{_told(supervisor, number)} CONFIRMED"]


def test_again_and_again(supervisor: Supervisor, number: int) -> None:
    """Who is impatient must not keep it from switching off, nor from ending."""
    supervisor.client(profile=SLOW_OFF)
    for _ in range(5):
        supervisor.process.send_signal(number)
        time.sleep(0.02)
    _ends(supervisor, number)
    assert supervisor.witness.is_off_and_read_back
    assert supervisor.said == [f"{_told(supervisor, number)} CONFIRMED"]


def test_while_a_job_has_the_link_and_others_wait(supervisor: Supervisor, number: int) -> None:
    client = supervisor.client()
    job = m.BeginJob(
        id=client.number(), instrument="smu", name="job", priority=Priority.CONTROL, timeout_s=None
    )
    client.say(job)
    supervisor.until(lambda: isinstance(client.hear(), m.JobGranted), "it has the link")
    for _ in range(20):
        client.say(submit(client, b":OUTP ON"))
        assert isinstance(client.hear(), m.Admitted)
    sent = len(supervisor.witness.messages())
    _ends(supervisor, number)
    assert supervisor.witness.messages()[sent:] == [":OUTP OFF", ":OUTP?"]
    assert supervisor.witness.is_off_and_read_back


def test_while_a_test_rearms_and_goes_on(supervisor: Supervisor, number: int) -> None:
    """What comes behind the last readback would stay on: nobody is left to switch it off."""
    client = supervisor.client()
    supervisor.process.send_signal(number)
    with contextlib.suppress(ConnectionError):
        while client.answer(m.Rearm(id=client.number(), reason="the next test")) is not None:
            client.answer(submit(client, b":OUTP ON"))
    _ends(supervisor, number)
    assert supervisor.witness.is_off_and_read_back
