"""`run_stream`: polls in the background, that neither pile up nor end without a word."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from supervisor_helpers import in_background, now, started, until

from pytest_safetyq import Priority
from pytest_safetyq.bench.limits import Limits
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.stream import run_stream
from pytest_safetyq.bench.wire.messages import StreamReply
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


class Stream:
    """A stream of ``P?``, and what came of it."""

    def __init__(
        self, instrument: OwnedInstrument, every_s: float = 0.01, command: str = "P?"
    ) -> None:
        self.heard: list[StreamReply] = []
        self.task = in_background(run_stream(instrument, 7, command, every_s, self.heard.append))

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})

    @property
    def ended_silently(self) -> bool:
        return self.task.done() and not any(message.error for message in self.heard)


async def test_it_sends_the_command_at_poll_priority_and_hands_on_the_replies() -> None:
    count = iter(range(100))
    smu = await started(ScriptedLink({b"P?": lambda _: b"%d" % next(count)}))
    stream = Stream(smu)
    await until(lambda: len(stream.heard) >= 3)
    await stream.end()
    assert [(m.stream, m.reply, m.error) for m in stream.heard[:3]] == [
        (7, "0", None),
        (7, "1", None),
        (7, "2", None),
    ]
    assert {r.priority for r in smu.dispatcher.records} == {POLL}
    assert {r.cmd_id for r in smu.dispatcher.records} == {"poll P?"}
    await smu.close()


async def test_it_keeps_its_pace() -> None:
    link = ScriptedLink({b"P?": b"1"})
    smu = await started(link)
    stream = Stream(smu, every_s=0.03)
    await until(lambda: len(stream.heard) >= 5)
    await stream.end()
    assert link.sent[4].at_s - link.sent[0].at_s >= 4 * 0.03 - 0.005
    await smu.close()


async def test_it_never_builds_up_a_backlog_and_leaves_out_the_turns_it_missed() -> None:
    link = ScriptedLink({b"P?": b"1"}, latency_s=0.05)
    smu = await started(link)
    stream = Stream(smu, every_s=0.001)
    most = 0
    begun_s = now()
    while len(stream.heard) < 4:
        most = max(most, smu.dispatcher.pending)
        await asyncio.sleep(0.001)
        assert now() - begun_s < 5.0
    await stream.end()
    assert most <= 1
    assert len(link.sent) <= 1 + (now() - begun_s) / 0.05
    await smu.close()


async def test_it_ends_when_it_is_cancelled_and_its_command_leaves_the_queue() -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=0.05)
    smu = await started(link)
    smu.submit("block", b"BLOCK?", QUERY)
    await until(lambda: link.sent)
    stream = Stream(smu)
    await until(lambda: smu.dispatcher.pending == 1)
    await stream.end()
    assert stream.task.cancelled()
    assert smu.dispatcher.pending == 0
    await smu.close()
    assert link.payloads == [b"BLOCK?"]


async def test_a_latched_instrument_makes_it_miss_turns_until_it_is_rearmed() -> None:
    link = ScriptedLink({b"P?": b"1"})
    smu = await started(link)
    stream = Stream(smu)
    await until(lambda: stream.heard)
    await smu.dispatcher.trip("smoke")
    await until(lambda: any(r.outcome == "refused" for r in smu.dispatcher.records))
    heard = len(stream.heard)
    assert not stream.task.done()
    smu.dispatcher.rearm("fine")
    await until(lambda: len(stream.heard) > heard)
    assert all(message.error is None for message in stream.heard)
    await stream.end()
    await smu.close()


async def test_a_full_queue_makes_it_miss_a_turn() -> None:
    link = ScriptedLink({b"BLOCK?": b"1", b"P?": b"1"}, latency_s=0.05)
    smu = await started(link, max_depth=1)
    smu.submit("block", b"BLOCK?", QUERY)
    await until(lambda: link.sent)
    smu.submit("fills it", b"X", QUERY)
    stream = Stream(smu)
    await until(lambda: any(r.outcome == "refused" for r in smu.dispatcher.records))
    await until(lambda: stream.heard)
    assert stream.heard[0].error is None
    await stream.end()
    await smu.close()


async def trip_and_rearm(smu: OwnedInstrument) -> None:
    await smu.dispatcher.trip("smoke")
    smu.dispatcher.rearm("fine")


async def abort(smu: OwnedInstrument) -> None:
    assert await smu.dispatcher.abort_low_priority() == 1


@pytest.mark.parametrize("flush", [trip_and_rearm, abort])
async def test_a_flush_of_its_waiting_command_makes_it_miss_a_turn_and_no_more(
    flush: Callable[[OwnedInstrument], Awaitable[None]],
) -> None:
    """A watch whose stream ended without a word would be blind, with the output on."""
    link = ScriptedLink({b"BLOCK?": b"1", b"P?": b"1"}, latency_s=0.03)
    smu = await started(link)
    smu.submit("block", b"BLOCK?", QUERY)
    await until(lambda: link.sent)
    stream = Stream(smu)
    await until(lambda: smu.dispatcher.pending == 1)
    await flush(smu)
    await asyncio.wait({stream.task}, timeout=0.2)
    assert not stream.ended_silently
    assert stream.heard
    await stream.end()
    await smu.close()


async def test_a_reply_that_does_not_come_ends_it_with_the_reason() -> None:
    smu = await started(ScriptedLink(), timeout_s=0.03)
    stream = Stream(smu)
    await asyncio.wait({stream.task}, timeout=2.0)
    (message,) = stream.heard
    assert "no reply to " in (message.error or "")
    assert stream.task.exception() is None
    await smu.close()


async def test_a_dispatcher_that_ends_ends_it_with_the_reason() -> None:
    smu = await started(ScriptedLink({b"P?": b"1"}))
    stream = Stream(smu)
    await until(lambda: stream.heard)
    await smu.close()
    await asyncio.wait({stream.task}, timeout=2.0)
    assert stream.task.done()
    assert "the dispatcher " in (stream.heard[-1].error or "")


@pytest.mark.parametrize("error", [ValueError("strange"), OSError("gone"), KeyError("x")])
async def test_any_other_failure_ends_it_with_the_reason(error: Exception) -> None:
    smu = await started(ScriptedLink().on(b"P?", error))
    stream = Stream(smu)
    await asyncio.wait({stream.task}, timeout=2.0)
    assert not stream.ended_silently
    assert stream.task.exception() is None
    await smu.close()


async def test_a_command_that_can_not_be_encoded_ends_it_with_the_reason() -> None:
    smu = await started(ScriptedLink())
    stream = Stream(smu, command="P\N{OHM SIGN}?")
    await asyncio.wait({stream.task}, timeout=2.0)
    assert not stream.ended_silently
    stream.task.exception()
    await smu.close()


async def test_a_command_beyond_the_limits_ends_it_with_the_reason() -> None:
    link = ScriptedLink()
    limits = Limits.from_config({"voltage_v": 20.0}, {"voltage_v": ("VOLTage",)})
    smu = await started(link, limits=limits)
    stream = Stream(smu, command="VOLT 30")
    await asyncio.wait({stream.task}, timeout=2.0)
    (message,) = stream.heard
    assert "VOLT 30" in (message.error or "")
    assert link.payloads == []
    await smu.close()
