"""Starting and stopping `SafetyAwareDispatcher`."""

import asyncio
import contextlib
import time

import pytest
from dispatcher_helpers import BLOCKED_S, Owner, outcomes, turns, until

from pytest_safetyq import LinkLost, Priority, SafetyAwareDispatcher, SafetyError
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


async def test_starting_twice_is_an_error_also_after_the_stop(own: Owner) -> None:
    dispatcher = own(ScriptedLink())
    await dispatcher.start()
    with pytest.raises(RuntimeError, match="started before"):
        await dispatcher.start()
    await dispatcher.stop()
    with pytest.raises(RuntimeError, match="started before"):
        await dispatcher.start()


async def test_async_with_starts_and_stops(own: Owner) -> None:
    link = ScriptedLink({b"*IDN?": b"ACME"})
    async with own(link) as dispatcher:
        assert isinstance(dispatcher, SafetyAwareDispatcher)
        assert await (await dispatcher.submit("idn", b"*IDN?", QUERY)) == b"ACME"
    with pytest.raises(LinkLost):
        await dispatcher.submit("idn", b"*IDN?", QUERY)


async def test_submit_returns_at_once_and_sends_nothing_itself(own: Owner) -> None:
    link = ScriptedLink({b"Q?": b"1"}, write_s=0.05, latency_s=0.05)
    async with own(link) as dispatcher:
        future = await dispatcher.submit("q", b"Q?", QUERY)
        assert isinstance(future, asyncio.Future)
        assert not future.done()
        assert link.payloads == []
        assert dispatcher.pending == 1
        assert await future == b"1"


async def test_what_was_submitted_before_the_start_is_served_the_most_urgent_first(
    own: Owner,
) -> None:
    link = ScriptedLink()
    dispatcher = own(link)
    for name, priority in [("p", POLL), ("q", QUERY), ("c", CONTROL), ("s", SAFETY)]:
        await dispatcher.submit(name, name.encode(), priority)
    await turns()
    assert link.payloads == []
    async with dispatcher:
        await until(lambda: len(link.sent) == 4)
    assert link.payloads == [b"s", b"c", b"q", b"p"]


async def test_stop_finishes_the_transaction_in_flight_and_cancels_what_waits(
    own: Owner,
) -> None:
    link = ScriptedLink({b"SLOW?": b"done"}, latency_s=BLOCKED_S)
    dispatcher = own(link)
    await dispatcher.start()
    in_flight = await dispatcher.submit("slow", b"SLOW?", QUERY)
    await until(lambda: link.payloads == [b"SLOW?"])
    waiting = [await dispatcher.submit(p.name, b"X", p) for p in (CONTROL, QUERY, POLL)]
    await dispatcher.stop()
    assert in_flight.result() == b"done"
    assert all(future.cancelled() for future in waiting)
    assert link.payloads == [b"SLOW?"]
    assert dispatcher.pending == 0
    assert dispatcher.running_priority is None


async def test_safety_that_waits_at_the_stop_is_still_sent(own: Owner) -> None:
    link = ScriptedLink({b"SLOW?": b"done"}, latency_s=BLOCKED_S)
    dispatcher = own(link)
    await dispatcher.start()
    await dispatcher.submit("slow", b"SLOW?", QUERY)
    await until(lambda: link.sent)
    poll = await dispatcher.submit("poll", b"P?", POLL)
    estops = [await dispatcher.submit(f"s{n}", b"OFF%d" % n, SAFETY) for n in range(2)]
    await dispatcher.stop()
    assert [future.result() for future in estops] == [b"", b""]
    assert link.payloads == [b"SLOW?", b"OFF0", b"OFF1"]
    assert poll.cancelled()


async def test_safety_submitted_while_stopping_is_still_sent(own: Owner) -> None:
    link = ScriptedLink({b"SLOW?": b"done"}, latency_s=BLOCKED_S)
    dispatcher = own(link)
    await dispatcher.start()
    await dispatcher.submit("slow", b"SLOW?", QUERY)
    await until(lambda: link.sent)
    stopping = asyncio.create_task(dispatcher.stop())
    await turns()
    estop = await dispatcher.submit("estop", b"OFF", SAFETY)
    await stopping
    assert estop.result() == b""
    assert link.payloads == [b"SLOW?", b"OFF"]


async def test_nothing_but_safety_is_sent_once_stopping(own: Owner) -> None:
    link = ScriptedLink({b"SLOW?": b"done"}, latency_s=BLOCKED_S)
    dispatcher = own(link)
    await dispatcher.start()
    await dispatcher.submit("slow", b"SLOW?", QUERY)
    await until(lambda: link.sent)
    stopping = asyncio.create_task(dispatcher.stop())
    await turns()
    try:
        late = await dispatcher.submit("late", b"OUTP ON", CONTROL)
    except SafetyError:
        late = None
    await stopping
    assert link.payloads == [b"SLOW?"]
    assert late is None or late.cancelled()


async def test_a_stream_of_polls_can_not_keep_a_dispatcher_from_stopping(own: Owner) -> None:
    link = ScriptedLink({b"P?": b"1"}, latency_s=0.01)
    dispatcher = own(link)
    await dispatcher.start()

    async def stream() -> None:
        with contextlib.suppress(SafetyError):
            while True:
                await dispatcher.submit("p", b"P?", POLL)
                await asyncio.sleep(0.005)

    polling = asyncio.create_task(stream())
    await until(lambda: len(link.sent) > 1)
    stopping = asyncio.create_task(dispatcher.stop())
    await asyncio.wait({stopping}, timeout=0.5)
    stopped = stopping.done()
    polling.cancel()
    await stopping
    assert stopped


async def test_submitting_after_the_stop_is_refused_also_for_safety(own: Owner) -> None:
    dispatcher = own(ScriptedLink())
    async with dispatcher:
        pass
    for priority in Priority:
        with pytest.raises(LinkLost, match="stopped"):
            await dispatcher.submit("x", b"X", priority)
    assert outcomes(dispatcher) == []


async def test_stopping_one_that_was_never_started_cancels_what_waits(own: Owner) -> None:
    dispatcher = own(ScriptedLink())
    future = await dispatcher.submit("x", b"X", CONTROL)
    await dispatcher.stop()
    assert future.cancelled()
    with pytest.raises(LinkLost):
        await dispatcher.submit("x", b"X", CONTROL)


async def test_one_that_was_stopped_before_it_was_started_says_so_when_it_is_started(
    own: Owner,
) -> None:
    dispatcher = own(ScriptedLink(), name="smu")
    await dispatcher.stop()
    await dispatcher.stop()
    with pytest.raises(RuntimeError, match=r"^smu: the dispatcher was stopped; make a new one$"):
        await dispatcher.start()
    with pytest.raises(LinkLost, match="stopped"):
        await dispatcher.submit("estop", b"OFF", SAFETY)


async def test_stopping_twice_is_harmless(own: Owner) -> None:
    dispatcher = own(ScriptedLink())
    await dispatcher.start()
    await dispatcher.stop()
    await dispatcher.stop()


async def test_an_idle_dispatcher_stops_at_once(own: Owner) -> None:
    dispatcher = own(ScriptedLink())
    await dispatcher.start()
    await turns()
    started = time.monotonic()
    await dispatcher.stop()
    assert time.monotonic() - started < 1.0


async def test_the_dispatcher_does_not_close_a_link_that_it_was_given() -> None:
    link = ScriptedLink()
    async with SafetyAwareDispatcher.on(link):
        pass
    assert not link.closed
