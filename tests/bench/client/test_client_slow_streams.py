"""Streams whose callback is slower than the replies: what is judged, and what is left out."""

from __future__ import annotations

import logging
import threading

import pytest
from bench_rig import PATIENCE_S, Rig, until

from pytest_safetyq.bench.client import streams
from pytest_safetyq.bench.client.mailbox import Mailbox
from pytest_safetyq.bench.wire.messages import StreamReply


def _reply(number: int) -> StreamReply:
    return StreamReply(stream=1, reply=str(number))


def _all(mailbox: Mailbox) -> list[StreamReply]:
    mailbox.close()
    found = []
    while (reply := mailbox.get()) is not None:
        found.append(reply)
    return found


def test_the_oldest_make_way_and_are_counted() -> None:
    mailbox = Mailbox(3)
    for number in range(10):
        mailbox.put(_reply(number))
    assert [reply.reply for reply in _all(mailbox)] == ["7", "8", "9"]
    assert mailbox.skipped == 7


def test_a_failure_is_never_left_out_and_is_the_last() -> None:
    mailbox = Mailbox(1)
    failure = StreamReply(stream=1, kind="LinkLost", error="gone")
    mailbox.put(_reply(1))
    mailbox.put(failure)
    mailbox.put(_reply(2))
    assert _all(mailbox) == [_reply(1), failure]
    assert mailbox.skipped == 0


def test_closing_wakes_who_waits() -> None:
    mailbox = Mailbox(1)
    threading.Timer(0.05, mailbox.close).start()
    assert mailbox.get() is None


def test_a_watch_judges_the_newest_reading(rig: Rig) -> None:
    """While one is judged many come: the one from before the trouble must not be judged last."""
    judging, go_on = threading.Event(), threading.Event()
    judged: list[str] = []

    def slow(reply: str) -> bool:
        judged.append(reply)
        if len(judged) == 1:
            judging.set()
            go_on.wait(PATIENCE_S)
        return reply == "1"

    with rig.smu.watch(":OUTP?", every_s=0.002, trip_when=slow) as watch:
        assert judging.wait(PATIENCE_S)
        until(lambda: watch.skipped >= 5, "old readings are skipped")
        rig.smu.write(":OUTP ON")
        skipped = watch.skipped
        until(lambda: watch.skipped >= skipped + 3, "newer ones take their place")
        go_on.set()
        until(lambda: not rig.is_on and watch.tripped, "it trips")
    assert judged[:2] == ["0", "1"], "the second to be judged is of now"


def test_a_poll_keeps_a_bounded_number_and_says_what_it_skipped(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(streams, "MOST_WAITING", 4)
    go_on = threading.Event()
    taken: list[str] = []

    def slow(reply: str) -> None:
        go_on.wait(PATIENCE_S)
        taken.append(reply)

    with (
        caplog.at_level(logging.WARNING),
        rig.smu.poll(":OUTP?", every_s=0.002, callback=slow) as poll,
    ):
        until(lambda: poll.skipped >= 3, "replies are skipped")
        go_on.set()
        before = poll.count
        until(lambda: poll.count > before + 6, "it goes on")
    assert len(taken) == poll.count
    assert f"smu: poll :OUTP?: {poll.skipped} replies were skipped" in caplog.text
    assert not rig.smu.latched


def test_a_poll_that_keeps_up_skips_nothing_and_says_nothing(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING),
        rig.smu.poll(":OUTP?", every_s=0.002) as poll,
    ):
        until(lambda: poll.count > 5, "replies come")
    assert poll.skipped == 0
    assert caplog.text == ""
