"""A supervisor ends with its last client, whatever its instruments are about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from test_wire_signals import ENDS_IN_S, STUCK
from wire_rig import Supervisor, submit

from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.bench.wire.framing import encode


def _ends(supervisor: Supervisor) -> None:
    assert supervisor.process.wait(ENDS_IN_S) == 0, supervisor.said
    assert not Path(supervisor.endpoint.directory).exists()
    assert supervisor.witness.is_off_and_read_back


def test_while_a_driver_is_stuck(launch: Callable[..., Supervisor]) -> None:
    supervisor = launch(patch=STUCK)
    client = supervisor.client(timeout_s=0.3)
    client.say(submit(client, b":STUCK"))
    assert isinstance(client.hear(), m.Admitted)
    client.close()
    _ends(supervisor)


def test_while_it_was_opening_another_instrument(supervisor: Supervisor) -> None:
    client = supervisor.client()
    spec = m.InstrumentSpec(
        name="second", resource="GPIB0::6::INSTR", library=f"{supervisor.simulation}@sim"
    )
    client.say(m.Open(id=client.number(), spec=spec))
    client.close()
    _ends(supervisor)


def test_while_a_guest_stays(supervisor: Supervisor) -> None:
    client = supervisor.client()
    guest = supervisor.peer()
    guest.hello(guest=True)
    assert isinstance(guest.hear(), m.Done)
    client.close()
    _ends(supervisor)
    assert guest.hear() is None


def test_the_bench_is_not_rearmed_behind_a_goodbye(supervisor: Supervisor) -> None:
    """By another thread of the test: both may be read at once."""
    client = supervisor.client()
    goodbye = m.Goodbye(id=client.number(), submitted_s=0.0)
    rearm = m.Rearm(id=client.number(), reason="go on")
    client.socket.sendall(encode(goodbye) + encode(rearm))
    answers: dict[int, m.Message] = {}
    while goodbye.id not in answers:
        message = client.hear()
        assert message is not None
        if isinstance(message, m.Done | m.Failed):
            answers[message.id] = message
    refused = answers[rearm.id]
    assert isinstance(refused, m.Failed)
    assert "said goodbye" in refused.message
    client.close()
    _ends(supervisor)
