"""Frames and messages: what is encoded is decoded, and what is none is refused as a whole."""

from __future__ import annotations

import contextlib
import typing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_safetyq import errors
from pytest_safetyq.bench.wire import framing
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.bench.wire.failures import exception_for, kind_of, text_of
from pytest_safetyq.scheduling import Priority

T = typing.TypeVar("T")

SPEC = m.InstrumentSpec(name="smu", resource="GPIB0::5::INSTR", limits={"voltage_v": (0.0, 5.0)})

TO_SUPERVISOR: list[m.Message] = [
    m.Hello(id=0, token="t", protocol=1, who="w", guest=True),
    m.Open(id=1, spec=SPEC),
    m.Submit(
        id=2,
        instrument="smu",
        cmd_id="c",
        payload=b"\x00\xff\n",
        raw=True,
        priority=Priority.SAFETY,
        timeout_s=None,
        expect_reply=None,
        submitted_s=1.5,
    ),
    m.Cancel(id=3),
    m.Abort(id=4, instrument="smu", below=Priority.CONTROL),
    m.Trip(id=5, instrument="smu", reason="r"),
    m.Rearm(id=6, reason="r"),
    m.EStop(id=7, reason="r", submitted_s=0.0),
    m.State(id=8, instrument="smu"),
    m.Records(id=9),
    m.BeginTest(id=10, test="t"),
    m.StartStream(id=11, instrument="smu", command="c", every_s=0.1),
    m.StopStream(id=12, stream=11),
    m.BeginJob(id=13, instrument="smu", name="n", priority=Priority.POLL, timeout_s=1.0),
    m.JobTransaction(id=14, job=13, payload=b"", timeout_s=1.0, expect_reply=True),
    m.EndJob(job=13),
    m.Probe(id=15, instrument="smu", samples=1, backlog=0, command=None),
    m.ListResources(id=16, library="@sim"),
    m.ListOpened(id=18),
    m.Echo(id=19),
    m.Goodbye(id=17, submitted_s=0.0),
]

TO_CLIENT: list[m.Message] = [
    m.Admitted(id=1),
    m.JobGranted(id=2),
    m.Working(id=7, within_s=1.5),
    m.Working(id=8, within_s=None),
    m.StreamReply(stream=3, reply="r", error=None),
    m.Done(id=4, value=b"\x00\xff"),
    m.Done(id=5, value={"a": [1, None, 2.5]}),
    m.Failed(id=6, kind="LinkLost", message="m"),
]


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(framing.HEADER_BYTES) + body


def _parsed(parser: framing.FrameParser[T], frame: bytes) -> T | None:
    """Return the one message in ``frame``."""
    parser.feed(frame)
    message = parser.next_message()
    assert parser.next_message() is None
    return message


@pytest.mark.parametrize("message", TO_SUPERVISOR, ids=lambda message: type(message).__name__)
def test_a_message_of_a_client_makes_the_round_trip(message: m.Message) -> None:
    decoded = _parsed(framing.parser_for_supervisor(), framing.encode(message))
    assert decoded == message
    assert type(decoded) is type(message)


@pytest.mark.parametrize("message", TO_CLIENT, ids=lambda message: type(message).__name__)
def test_a_message_of_a_supervisor_makes_the_round_trip(message: m.Message) -> None:
    assert _parsed(framing.parser_for_client(), framing.encode(message)) == message


def test_every_message_is_among_these() -> None:
    assert {type(message) for message in TO_SUPERVISOR} == set(typing.get_args(m.ToSupervisor))
    assert {type(message) for message in TO_CLIENT} == set(typing.get_args(m.ToClient))


@given(
    payload=st.binary(max_size=300),
    cmd_id=st.text(max_size=50),
    priority=st.sampled_from(list(Priority)),
    timeout_s=st.none() | st.floats(allow_nan=False),
    expect_reply=st.none() | st.booleans(),
)
def test_any_command_makes_the_round_trip(
    payload: bytes,
    cmd_id: str,
    priority: Priority,
    timeout_s: float | None,
    expect_reply: bool | None,
) -> None:
    message = m.Submit(
        id=1,
        instrument="smu",
        cmd_id=cmd_id.encode("utf-8", "replace").decode(),
        payload=payload,
        raw=False,
        priority=priority,
        timeout_s=timeout_s,
        expect_reply=expect_reply,
        submitted_s=0.0,
    )
    assert _parsed(framing.parser_for_supervisor(), framing.encode(message)) == message


@given(st.binary(max_size=500))
def test_random_bytes_are_a_frame_error_or_a_message(body: bytes) -> None:
    for parser in (framing.parser_for_supervisor(), framing.parser_for_client()):
        parser.feed(_framed(body))
        with contextlib.suppress(framing.FrameError):
            assert isinstance(parser.next_message(), m.Message)


@given(st.sampled_from(TO_SUPERVISOR), st.data())
def test_a_damaged_message_is_a_frame_error_or_a_message(
    message: m.Message, data: st.DataObject
) -> None:
    body = bytearray(framing.encode(message)[framing.HEADER_BYTES :])
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(framing.FrameError):
        message = _parsed(framing.parser_for_supervisor(), _framed(bytes(body)))
        assert isinstance(message, m.Message)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        msgspec.msgpack.encode({"type": "Nonsense", "id": 1}),
        msgspec.msgpack.encode({"type": "State", "id": 1}),
        msgspec.msgpack.encode({"type": "State", "id": 1, "instrument": "smu", "more": 1}),
        msgspec.msgpack.encode({"type": "State", "id": "1", "instrument": "smu"}),
        msgspec.msgpack.encode({"id": 1, "instrument": "smu"}),
        msgspec.msgpack.encode([1, 2]),
        framing.encode(TO_SUPERVISOR[8])[framing.HEADER_BYTES :] + b"\x00",
        framing.encode(TO_CLIENT[0])[framing.HEADER_BYTES :],
    ],
    ids=["empty", "tag", "missing", "unknown", "type", "untagged", "array", "trailing", "other"],
)
def test_what_is_no_message_of_a_client_is_refused(body: bytes) -> None:
    with pytest.raises(framing.FrameError):
        _parsed(framing.parser_for_supervisor(), _framed(body))


def test_an_oversized_length_is_refused_before_anything_is_kept() -> None:
    limit = framing.MAX_FRAME_BYTES
    parser = framing.parser_for_supervisor()
    parser.feed(limit.to_bytes(4))
    assert parser.next_message() is None
    for length in (limit + 1, 0xFFFFFFFF):
        parser = framing.parser_for_supervisor()
        parser.feed(length.to_bytes(4))
        with pytest.raises(framing.FrameError, match=f"{length} bytes"):
            parser.next_message()


def test_the_limit_may_change_between_two_messages() -> None:
    """A stranger may not say much; who is known may, and both can arrive at once."""
    hello, command = TO_SUPERVISOR[0], m.BeginTest(id=1, test="x" * 5000)
    parser = framing.parser_for_supervisor(framing.MAX_HELLO_BYTES)
    parser.feed(framing.encode(hello) + framing.encode(command))
    assert parser.next_message() == hello
    with pytest.raises(framing.FrameError, match="at most 4096"):
        parser.next_message()
    parser.limit = framing.MAX_FRAME_BYTES
    assert parser.next_message() == command


@given(st.lists(st.sampled_from(TO_SUPERVISOR), max_size=5), st.data())
def test_messages_come_whole_however_they_arrive(
    messages: list[m.Message], data: st.DataObject
) -> None:
    stream = b"".join(framing.encode(message) for message in messages)
    parser = framing.parser_for_supervisor()
    parsed: list[m.Message] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        parser.feed(stream[:size])
        stream = stream[size:]
        while (message := parser.next_message()) is not None:
            parsed.append(message)
    assert parsed == messages


def test_a_message_that_is_too_long_is_not_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "MAX_FRAME_BYTES", 1000)
    with pytest.raises(ValueError, match=r"BeginTest has 5[0-9]{3} bytes; at most 1000 can go"):
        framing.encode(m.BeginTest(id=1, test="x" * 5000))


def test_what_the_supervisor_would_refuse_is_not_encoded() -> None:
    wrong = m.Rearm(id=1, reason=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Rearm can't be sent: .*str.*reason"):
        framing.encode_for_supervisor(wrong)


OURS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.SafetyError)
]


@pytest.mark.parametrize("kind", [*OURS, ValueError, TypeError])
def test_an_exception_keeps_its_class_and_its_text(kind: type[Exception]) -> None:
    error = kind("what happened")
    back = exception_for(kind_of(error), text_of(error))
    assert type(back) is kind
    assert str(back) == "what happened"


class OfAUser(errors.LinkLost):
    """One that nobody else knows."""


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (OfAUser("gone"), errors.LinkLost, "OfAUser: gone"),
        (KeyError("k"), errors.SafetyError, "KeyError: 'k'"),
        (TimeoutError("late"), errors.SafetyError, "TimeoutError: late"),
        (UnicodeError("no text"), ValueError, "UnicodeError: no text"),
        (errors.EStopLatched(), errors.EStopLatched, "EStopLatched: "),
        (RuntimeError(), errors.SafetyError, "RuntimeError: "),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value),
)
def test_an_exception_of_another_class_comes_as_the_nearest(
    error: Exception, kind: type[Exception], text: str
) -> None:
    back = exception_for(kind_of(error), text_of(error))
    assert type(back) is kind
    assert str(back) == text


def test_an_unknown_kind_is_the_base_class() -> None:
    assert type(exception_for("OfAnotherVersion", "m")) is errors.SafetyError
    assert type(exception_for("SystemExit", "m")) is errors.SafetyError
