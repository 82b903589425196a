"""Background polls and watches: what they deliver, and that a blind watch is never silent."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from bench_rig import Rig, until

from pytest_safetyq import LimitExceeded, LinkLost, Priority, SafetyError, TransactionTimeout


def test_a_poll_delivers_replies_and_stops_with_its_block(rig: Rig) -> None:
    replies: list[str] = []
    names: set[str] = set()

    def take(reply: str) -> None:
        replies.append(reply)
        names.add(threading.current_thread().name)

    with rig.smu.poll(":OUTP?", every_s=0.005, callback=take) as stream:
        until(lambda: stream.count >= 3, "three replies come")
    assert set(replies) == {"0"}
    assert stream.count == len(replies)
    assert stream.latest == "0"
    assert threading.main_thread().name not in names
    count = len(rig.sent())
    rig.smu.query("*IDN?")
    assert rig.sent()[count:] == ["*IDN?"]
    assert {r.priority for r in rig.safety.records if r.payload == b":OUTP?"} == {Priority.POLL}


def test_a_poll_without_a_callback(rig: Rig) -> None:
    with rig.smu.poll(":OUTP?", every_s=0.005) as stream:
        until(lambda: stream.latest == "0", "a reply comes")
    assert not rig.smu.latched


def test_a_poll_keeps_its_pace_and_builds_no_backlog(rig: Rig) -> None:
    with rig.smu.poll(":OUTP?", every_s=0.05) as stream:
        began_s = time.monotonic()
        until(lambda: stream.count >= 5, "five replies come")
        assert time.monotonic() - began_s >= 0.05 * 3
    with rig.held(), rig.smu.poll(":OUTP?", every_s=0.001):
        until(lambda: rig.waiting(Priority.POLL) == 1, "one waits")
        for _ in range(20):
            assert rig.waiting(Priority.POLL) == 1


def test_two_streams_on_one_instrument(rig: Rig) -> None:
    with (
        rig.smu.poll(":OUTP?", every_s=0.002) as one,
        rig.smu.poll(":SYST:VERS?", every_s=0.002) as two,
    ):
        until(lambda: one.count > 5 and two.count > 5, "replies come to both")
        assert (one.latest, two.latest) == ("0", "1996.0")


@pytest.mark.parametrize("every_s", [0, -1, float("nan")])
def test_a_pace_that_is_none_is_refused(rig: Rig, every_s: float) -> None:
    with pytest.raises(ValueError, match="every_s"):
        rig.smu.poll(":OUTP?", every_s=every_s)
    with pytest.raises(ValueError, match="every_s"):
        rig.smu.watch(":OUTP?", every_s=every_s, trip_when=bool)


def test_a_stream_is_started_once(rig: Rig) -> None:
    stream = rig.smu.poll(":OUTP?", every_s=0.01)
    with stream:
        pass
    with pytest.raises(RuntimeError, match="make a new one"):
        stream.start()


def test_a_callback_that_raises_trips_and_is_raised_at_the_end(rig: Rig) -> None:
    def take(reply: str) -> None:
        raise ZeroDivisionError(reply)

    rig.smu.write(":OUTP ON")
    with (
        pytest.raises(ZeroDivisionError),
        rig.smu.poll(":OUTP?", every_s=0.005, callback=take) as stream,
    ):
        until(lambda: not rig.is_on, "the output goes off")
    assert stream.tripped
    assert rig.smu.latched


def test_a_callback_that_raises_an_error_of_ours_trips_too(rig: Rig) -> None:
    """A callback that sends something may raise `LimitExceeded`, and that is a failure as any."""

    def take(reply: str) -> None:
        del reply
        rig.smu.write(":SOUR:VOLT 21")

    with (
        pytest.raises(LimitExceeded),
        rig.smu.poll(":OUTP?", every_s=0.005, callback=take) as stream,
    ):
        until(lambda: stream._error is not None, "the callback has raised")
    assert rig.smu.latched


def test_a_watch_trips_when_the_reply_says_so(rig: Rig) -> None:
    with rig.smu.watch(":OUTP?", every_s=0.005, trip_when=lambda reply: reply == "1") as watch:
        until(lambda: watch.count >= 2, "replies come")
        assert not rig.smu.latched
        rig.smu.write(":OUTP ON")
        until(lambda: not rig.is_on, "the output goes off")
    assert watch.tripped
    assert rig.smu.latched


def test_a_watch_whose_condition_raises_trips(rig: Rig) -> None:
    def broken(reply: str) -> bool:
        return float(reply) / 0 > 1

    rig.smu.write(":OUTP ON")
    with (
        pytest.raises(ZeroDivisionError),
        rig.smu.watch(":OUTP?", every_s=0.005, trip_when=broken),
    ):
        until(lambda: not rig.is_on, "the output goes off")
    assert rig.smu.latched


def _switched_on(rig: Rig) -> bool:
    """Whether it could be switched on: a reply from before the trip may trip once more."""
    try:
        if rig.smu.latched:
            rig.smu.estop()
            rig.safety.rearm("once more")
        rig.smu.write(":OUTP ON")
    except SafetyError:
        return False
    return True


def test_a_watch_trips_again_after_a_rearm(rig: Rig) -> None:
    with rig.smu.watch(":OUTP?", every_s=0.005, trip_when=lambda reply: reply == "1"):
        for _ in range(2):
            until(lambda: _switched_on(rig), "the output is on")
            until(lambda: not rig.is_on and rig.smu.latched, "it trips")


def test_a_watch_of_a_mute_query_trips(rig: Rig) -> None:
    rig.smu.write(":OUTP ON")
    with (
        pytest.raises(SafetyError, match="FETC"),
        rig.smu.watch(":FETC?", every_s=0.005, trip_when=lambda _: False),
    ):
        until(lambda: not rig.is_on, "the output goes off")
    assert rig.smu.latched


def test_a_poll_of_a_mute_query_is_raised_at_the_end_and_trips_nothing(rig: Rig) -> None:
    with (
        pytest.raises(TransactionTimeout, match="FETC"),
        rig.smu.poll(":FETC?", every_s=0.005) as stream,
    ):
        until(lambda: stream._error is not None, "it has failed")
    assert not rig.smu.latched


@pytest.mark.parametrize("command", ["\u03a9?", ":SOUR:VOLT 21;:OUTP?"])
def test_a_watch_that_can_not_be_sent_is_never_silent(rig: Rig, command: str) -> None:
    """Either it is refused at once, or it trips."""
    rig.smu.write(":OUTP ON")
    with (
        pytest.raises((ValueError, SafetyError)),
        rig.smu.watch(command, every_s=0.005, trip_when=lambda _: False),
    ):
        until(lambda: rig.smu.latched, "it trips")


def test_a_watch_of_a_pace_without_end_is_refused(rig: Rig) -> None:
    with pytest.raises(ValueError, match="every_s"):
        rig.smu.watch(":OUTP?", every_s=float("inf"), trip_when=bool)


def _blinded(rig: Rig, blind: Callable[[], object]) -> None:
    """Let ``blind`` act while a command of a watch waits; then it must see, or have tripped."""
    with rig.smu.watch(":OUTP?", every_s=0.002, trip_when=lambda _: False) as watch:
        until(lambda: watch.count > 1, "replies come")
        with rig.held():
            until(lambda: rig.waiting(Priority.POLL) == 1, "its command waits")
            blind()
        before = watch.count
        rig.smu.query("*IDN?")
        until(lambda: watch.count > before + 1 or rig.smu.latched, "it sees or trips")


def test_aborting_low_priorities_does_not_blind_a_watch(own: Rig) -> None:
    _blinded(own, lambda: asyncio.run(own.dispatcher.abort_low_priority()))


def test_a_probe_does_not_blind_a_watch(own: Rig) -> None:
    with own.smu.watch(":OUTP?", every_s=0.001, trip_when=lambda _: False) as watch:
        until(lambda: watch.count > 1, "replies come")
        own.safety.probe(samples=3, backlog=20)
        before = watch.count
        until(lambda: watch.count > before + 1 or own.smu.latched, "it sees or trips")


def test_a_full_queue_does_not_blind_a_watch(rig: Rig) -> None:
    with rig.smu.watch(":OUTP?", every_s=0.002, trip_when=lambda _: False) as watch:
        until(lambda: watch.count > 1, "replies come")
        with rig.held():
            answers: list[Any] = []
            while rig.dispatcher.pending < 256:
                answers.append(rig.smu.submit("*CLS", priority=Priority.QUERY))
        before = watch.count
        until(lambda: watch.count > before + 1, "it sees again")


def test_a_watch_survives_a_trip_and_a_rearm(rig: Rig) -> None:
    with rig.smu.watch(":OUTP?", every_s=0.002, trip_when=lambda _: False) as watch:
        until(lambda: watch.count > 1, "replies come")
        rig.smu.estop("from elsewhere")
        rig.safety.rearm("go on")
        before = watch.count
        until(lambda: watch.count > before + 1, "it sees again")
    assert not watch.tripped


@pytest.mark.parametrize("kind", ["poll", "watch"])
def test_the_supervisor_is_gone_during_a_stream(own: Rig, kind: str) -> None:
    stream = (
        own.smu.poll(":OUTP?", every_s=0.005)
        if kind == "poll"
        else own.smu.watch(":OUTP?", every_s=0.005, trip_when=lambda _: False)
    )
    stream.start()
    until(lambda: stream.count > 1, "replies come")
    own.kill()
    until(lambda: own.bench.lost is not None, "the connection ends")
    with pytest.raises(LinkLost):
        stream.stop()


def test_an_exception_in_the_block_is_what_comes_out(rig: Rig) -> None:
    def poll_and_fail() -> None:
        with rig.smu.poll(":OUTP?", every_s=0.005) as stream:
            until(lambda: stream.count > 0, "a reply comes")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        poll_and_fail()
    assert not rig.smu.latched
