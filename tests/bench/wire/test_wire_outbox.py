"""What can't be sent to a client is told instead, and the connection goes on."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_safetyq.bench.supervisor import outbox
from pytest_safetyq.bench.supervisor.outbox import Outbox
from pytest_safetyq.bench.wire import framing
from pytest_safetyq.bench.wire import messages as m


class Writer:
    """A connection on which nobody reads."""

    def __init__(self) -> None:
        self.transport: Any = self
        self.written = b""
        self.aborted = False

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def abort(self) -> None:
        self.aborted = True

    def messages(self) -> list[m.ToClient]:
        parser = framing.parser_for_client()
        parser.feed(self.written)
        found = []
        while (message := parser.next_message()) is not None:
            found.append(message)
        return found


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
def sending(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> Outbox:
    monkeypatch.setattr(framing, "MAX_FRAME_BYTES", 1000)
    monkeypatch.setattr(outbox, "MAX_UNREAD_BYTES", 2500)
    return Outbox(writer)  # type: ignore[arg-type]


def test_an_answer_that_is_too_long_is_a_failure_of_its_request(
    sending: Outbox, writer: Writer
) -> None:
    sending.send(m.Done(id=7, value=b"x" * 2000))
    sending.send(m.Done(id=8))
    failed, done = writer.messages()
    assert isinstance(failed, m.Failed)
    assert (failed.id, failed.kind) == (7, "SafetyError")
    assert "at most 1000" in failed.message
    assert done == m.Done(id=8)


def test_a_reply_of_a_stream_that_is_too_long_is_its_failure(
    sending: Outbox, writer: Writer
) -> None:
    sending.send(m.StreamReply(stream=3, reply="x" * 2000))
    (reply,) = writer.messages()
    assert isinstance(reply, m.StreamReply)
    assert reply.stream == 3
    assert reply.error is not None


def test_a_text_that_is_no_unicode_is_told(sending: Outbox, writer: Writer) -> None:
    """An error may quote the name of a file."""
    sending.send(m.Failed(id=7, kind="LinkLost", message="no file \udc80"))
    (failed,) = writer.messages()
    assert isinstance(failed, m.Failed)
    assert failed.id == 7


def test_one_long_answer_is_no_sign_that_nobody_reads(sending: Outbox, writer: Writer) -> None:
    for number in range(3):
        sending.send(m.Done(id=number, value=b"x" * 900))
    assert not writer.aborted
    assert len(writer.messages()) == 3
    sending.send(m.Done(id=3))
    assert writer.aborted, "so much was unread before it"
