"""Who isn't let in, and what the end of who is let in means."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import time
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_rig import Peer, Supervisor

from pytest_safetyq.bench.wire import framing
from pytest_safetyq.bench.wire import messages as m

Ask = Callable[["Peer", bytes], "m.ToClient | None"]


def _is_untouched(supervisor: Supervisor, client: Peer, ask: Ask) -> None:
    """Whether the real client's instrument is still on and answers."""
    answer = ask(client, b":OUTP?")
    assert isinstance(answer, m.Done), supervisor.said
    assert answer.value == b"1"


def _has_said(supervisor: Supervisor, lines: int) -> bool:
    return len(supervisor.said) == lines


REFUSED = {
    "random": b"\x00\x00\x00\x05hello",
    "a text protocol": b"GET / HTTP/1.1\r\n\r\n",
    "an oversized length": b"\xff\xff\xff\xff",
    "a length beyond that of a hello": (framing.MAX_HELLO_BYTES + 1).to_bytes(4),
    "an empty frame": b"\x00\x00\x00\x00",
    "a message before the hello": framing.encode(m.State(id=1, instrument="smu")),
    "an E-stop before the hello": framing.encode(m.EStop(id=1, reason="r", submitted_s=0.0)),
    "a wrong token": framing.encode(m.Hello(id=0, token="wrong", protocol=1, who="w")),
    "no token": framing.encode(m.Hello(id=0, token="", protocol=1, who="w")),
    "a token that is no ASCII": framing.encode(m.Hello(id=0, token="\u03a9", protocol=1, who="w")),
}


def test_a_stranger_is_refused_and_changes_nothing(supervisor: Supervisor, ask: Ask) -> None:
    client = supervisor.client()
    for number, sent in enumerate(REFUSED.values(), 1):
        stranger = supervisor.peer()
        stranger.socket.sendall(sent)
        assert stranger.hear() is None
        supervisor.until(functools.partial(_has_said, supervisor, number), "it is told")
    assert all(line.startswith("safetyq: a connection was refused: ") for line in supervisor.said)
    _is_untouched(supervisor, client, ask)


def test_half_a_frame_and_gone(supervisor: Supervisor, ask: Ask) -> None:
    client = supervisor.client()
    frame = framing.encode(m.Hello(id=0, token="t", protocol=1, who="w"))
    for length in (0, 1, 3, 4, len(frame) - 1):
        stranger = supervisor.peer()
        stranger.socket.sendall(frame[:length])
        stranger.close()
    supervisor.until(lambda: len(supervisor.said) == 5, "all are told")
    _is_untouched(supervisor, client, ask)


def test_a_stranger_can_not_forge_a_line(supervisor: Supervisor) -> None:
    stranger = supervisor.peer()
    forged = msgspec.msgpack.encode({"type": "x\nsafetyq: forged: smu: off CONFIRMED\x1b[2J"})
    stranger.socket.sendall(len(forged).to_bytes(4) + forged)
    assert stranger.hear() is None
    supervisor.until(lambda: supervisor.said, "it is told")
    assert len(supervisor.said) == 1
    assert supervisor.said[0].isprintable()


def test_another_version_is_told_so(supervisor: Supervisor) -> None:
    peer = supervisor.peer()
    peer.hello(protocol=m.PROTOCOL + 1)
    answer = peer.hear()
    assert isinstance(answer, m.Failed)
    assert f"this supervisor speaks {m.PROTOCOL}" in answer.message
    assert peer.hear() is None


def test_random_bytes_never_harm_another_client(supervisor: Supervisor, ask: Ask) -> None:
    client = supervisor.client()

    @settings(
        max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(st.binary(min_size=1, max_size=64), st.booleans())
    def send(sent: bytes, as_a_guest: bool) -> None:
        stranger = supervisor.peer()
        if as_a_guest:
            stranger.hello(guest=True)
            assert isinstance(stranger.hear(), m.Done)
            sent = len(sent).to_bytes(4) + sent
        stranger.socket.sendall(sent)
        stranger.close()

    send()
    _is_untouched(supervisor, client, ask)
    assert supervisor.process.poll() is None


AFTER_THE_HELLO = {
    "garbage": b"\x00\x00\x00\x04\xff\xff\xff\xff",
    "an oversized length": b"\xff\xff\xff\xff",
    "a message with an unknown field": b"\x00\x00\x00\x0e" + b"\x81\xa4type\xa8Nonsense"[:14],
    "half a frame": b"\x00\x00\x00\x10half",
    "nothing": b"",
}


@pytest.mark.parametrize("sent", AFTER_THE_HELLO.values(), ids=AFTER_THE_HELLO.keys())
def test_a_client_that_speaks_garbage_counts_as_dead(supervisor: Supervisor, sent: bytes) -> None:
    client = supervisor.client()
    client.socket.sendall(sent)
    if sent[4:] in (b"", b"half") and sent[:1] != b"\xff":
        client.close()
    supervisor.witness.wait_until_off()
    supervisor.until(lambda: supervisor.said, "it is told")
    assert supervisor.said[0].startswith("safetyq: the peer ")
    assert supervisor.said[0].endswith("smu: off CONFIRMED")
    supervisor.process.wait(10)
    assert not os.path.exists(supervisor.endpoint.directory)


def test_a_guest_that_speaks_garbage_is_only_sent_away(supervisor: Supervisor, ask: Ask) -> None:
    client = supervisor.client()
    guest = supervisor.peer()
    guest.hello(guest=True)
    assert isinstance(guest.hear(), m.Done)
    guest.socket.sendall(b"\x00\x00\x00\x04\xff\xff\xff\xff")
    assert guest.hear() is None
    _is_untouched(supervisor, client, ask)


def test_one_request_one_answer(supervisor: Supervisor) -> None:
    client = supervisor.client()
    requests: list[m.Request] = [
        m.State(id=client.number(), instrument="nothing"),
        m.Records(id=client.number(), instrument="nothing"),
        m.Trip(id=client.number(), instrument="nothing", reason="r"),
        m.StopStream(id=client.number(), stream=99),
        m.JobTransaction(
            id=client.number(), job=99, payload=b"*CLS", timeout_s=1.0, expect_reply=None
        ),
        m.StartStream(id=client.number(), instrument="nothing", command="*IDN?", every_s=1.0),
        m.Probe(id=client.number(), instrument="smu", samples=0, backlog=0, command=None),
        m.Records(id=client.number()),
        m.State(id=client.number(), instrument="smu"),
    ]
    for request in requests:
        client.say(request)
    answered: list[int] = []
    while len(answered) < len(requests):
        message = client.hear()
        if isinstance(message, m.Done | m.Failed):
            answered.append(message.id)
        else:
            assert isinstance(message, m.Working), "which comes before the answer"
            assert message.id not in answered
    assert sorted(answered) == [request.id for request in requests]


def test_a_raw_message_does_not_spoil_the_records(supervisor: Supervisor) -> None:
    client = supervisor.client()
    client.socket.settimeout(5)
    raw = m.Submit(
        id=client.number(),
        instrument="smu",
        cmd_id="c",
        payload=b"*CLS\n",
        raw=True,
        priority=1,  # type: ignore[arg-type]
        timeout_s=None,
        expect_reply=None,
        submitted_s=time.monotonic(),
    )
    assert isinstance(client.answer(raw), m.Done)
    answer = client.answer(m.Records(id=client.number(), instrument="smu"))
    assert isinstance(answer, m.Done)


def test_a_terminal_that_takes_nothing_does_not_hold_up_the_estop(
    launch: Callable[..., Supervisor],
) -> None:
    """A pipe that nobody reads, or a terminal that was stopped with Ctrl-S."""
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        while True:
            try:
                os.write(writing, b"x")
            except BlockingIOError:
                break
        os.set_blocking(writing, True)
        supervisor = launch(stderr=writing)
        client = supervisor.client()
        stranger = supervisor.peer()
        stranger.socket.sendall(b"\xff\xff\xff\xff")
        stranger.socket.settimeout(1)
        with contextlib.suppress(TimeoutError):
            assert stranger.hear() is None
        client.socket.settimeout(5)
        estop = m.EStop(id=client.number(), reason="r", submitted_s=time.monotonic())
        assert isinstance(client.answer(estop), m.Done)
    finally:
        os.close(reading)
        os.close(writing)
