"""Which command is sent next, and who is let in."""

import asyncio
import time

import pytest
from dispatcher_helpers import BLOCKED_S, LOADED_S, Owner, outcomes, record_of, turns, until

from pytest_safetyq import BacklogFull, Priority, SafetyAwareDispatcher
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


async def blocked(own: Owner, link: ScriptedLink, **settings: object) -> SafetyAwareDispatcher:
    """Return a started dispatcher with one slow transaction in flight."""
    link.on(b"BLOCK?", b"", after_s=BLOCKED_S)
    dispatcher = own(link, **settings)
    await dispatcher.start()
    await dispatcher.submit("block", b"BLOCK?", QUERY)
    await until(lambda: link.sent)
    return dispatcher


async def test_the_most_urgent_goes_first_and_ties_by_submission(own: Owner) -> None:
    link = ScriptedLink()
    dispatcher = await blocked(own, link)
    names = ["p1", "q1", "c1", "s1", "p2", "q2", "c2", "s2"]
    futures = [
        await dispatcher.submit(
            n, n.encode(), {"p": POLL, "q": QUERY, "c": CONTROL}.get(n[0], SAFETY)
        )
        for n in names
    ]
    await asyncio.gather(*futures)
    assert link.payloads[1:] == [b"s1", b"s2", b"c1", b"c2", b"q1", b"q2", b"p1", b"p2"]
    await dispatcher.stop()


async def test_equal_keys_never_compare_payloads(own: Owner) -> None:
    class Incomparable(bytes):
        def __lt__(self, other: object) -> bool:
            raise TypeError("payloads have no order")

        __gt__ = __le__ = __ge__ = __lt__

    link = ScriptedLink()
    dispatcher = await blocked(own, link)
    futures = [
        await dispatcher.submit("same", Incomparable(b"X%d" % (9 - n)), priority)
        for priority in Priority
        for n in range(10)
    ]
    await asyncio.gather(*futures)
    assert link.payloads[1:] == [b"X%d" % (9 - n) for _ in Priority for n in range(10)]
    await dispatcher.stop()


async def test_a_poll_ages_while_it_waits_past_a_query_that_came_later(own: Owner) -> None:
    link = ScriptedLink()
    dispatcher = await blocked(own, link, tau_age=0.05)
    poll = await dispatcher.submit("poll", b"P", POLL)
    await asyncio.sleep(0.06)
    query = await dispatcher.submit("query", b"Q", QUERY)
    await asyncio.gather(poll, query)
    assert link.payloads[1:] == [b"P", b"Q"]
    assert record_of(dispatcher, "poll").effective_priority <= QUERY
    assert record_of(dispatcher, "poll").priority is POLL
    await dispatcher.stop()


async def test_aging_stops_short_of_safety(own: Owner) -> None:
    link = ScriptedLink()
    dispatcher = await blocked(own, link, tau_age=0.001)
    poll = await dispatcher.submit("poll", b"P", POLL)
    await asyncio.sleep(0.02)
    estop = await dispatcher.submit("estop", b"S", SAFETY)
    await asyncio.gather(poll, estop)
    assert link.payloads[1:] == [b"S", b"P"]
    assert record_of(dispatcher, "poll").effective_priority is CONTROL
    await dispatcher.stop()


async def test_a_stream_of_control_does_not_starve_a_poll(own: Owner) -> None:
    link = ScriptedLink({b"C?": b"1"}, latency_s=0.005)
    async with own(link, tau_age=0.02) as dispatcher:
        poll = await dispatcher.submit("poll", b"P", POLL)

        async def control() -> None:
            while not poll.done():
                future = await dispatcher.submit("c", b"C?", CONTROL)
                await dispatcher.submit("c", b"C?", CONTROL)
                await future

        async with asyncio.timeout(5.0):
            await control()
    assert b"P" in link.payloads


@pytest.mark.parametrize("tau_age", [0.0, -1.0])
async def test_without_aging_a_poll_waits_for_whatever_is_more_urgent(
    own: Owner, tau_age: float
) -> None:
    link = ScriptedLink()
    dispatcher = await blocked(own, link, tau_age=tau_age)
    poll = await dispatcher.submit("poll", b"P", POLL)
    await asyncio.sleep(0.05)
    query = await dispatcher.submit("query", b"Q", QUERY)
    await asyncio.gather(poll, query)
    assert link.payloads[1:] == [b"Q", b"P"]
    assert record_of(dispatcher, "poll").effective_priority is POLL
    await dispatcher.stop()


async def test_a_full_backlog_refuses_at_once_and_enqueues_nothing(own: Owner) -> None:
    link = ScriptedLink()
    dispatcher = await blocked(own, link, max_depth=2)
    kept = [await dispatcher.submit(f"k{n}", b"K%d" % n, POLL) for n in range(2)]
    for priority in (CONTROL, QUERY, POLL):
        with pytest.raises(BacklogFull, match="2 commands wait") as caught:
            await dispatcher.submit("refused", b"R", priority)
        assert isinstance(caught.value, asyncio.QueueFull)
    with pytest.raises(BacklogFull):
        await dispatcher.run_job(lambda txn: txn(b"R"), CONTROL)
    assert dispatcher.pending == 2
    await asyncio.gather(*kept)
    assert link.payloads == [b"BLOCK?", b"K0", b"K1"]
    refused = [r for r in dispatcher.records if r.outcome == "refused"]
    assert [r.cmd_id for r in refused][:3] == ["refused"] * 3
    assert {r.dispatched_s for r in refused} == {None}
    await dispatcher.stop()


async def test_a_full_backlog_takes_commands_again_once_one_is_gone(own: Owner) -> None:
    dispatcher = await blocked(own, ScriptedLink(), max_depth=1)
    first = await dispatcher.submit("first", b"1", POLL)
    first.cancel()
    second = await dispatcher.submit("second", b"2", POLL)
    assert await second == b""
    await dispatcher.stop()


async def test_safety_is_accepted_when_full_and_does_not_fill_the_backlog(own: Owner) -> None:
    link = ScriptedLink()
    dispatcher = await blocked(own, link, max_depth=1)
    estops = [await dispatcher.submit(f"s{n}", b"S%d" % n, SAFETY) for n in range(5)]
    poll = await dispatcher.submit("poll", b"P", POLL)
    estops.append(await dispatcher.submit("s5", b"S5", SAFETY))
    await asyncio.gather(*estops, poll)
    assert link.payloads[1:] == [b"S0", b"S1", b"S2", b"S3", b"S4", b"S5", b"P"]
    await dispatcher.stop()


async def test_a_depth_of_zero_takes_nothing_but_safety(own: Owner) -> None:
    async with own(ScriptedLink(), max_depth=0) as dispatcher:
        with pytest.raises(BacklogFull):
            await dispatcher.submit("c", b"C", CONTROL)
        assert await (await dispatcher.submit("s", b"S", SAFETY)) == b""


async def test_safety_wakes_an_idle_worker_at_once(own: Owner) -> None:
    link = ScriptedLink()
    async with own(link) as dispatcher:
        await asyncio.sleep(0.01)
        await dispatcher.submit("estop", b"OFF", SAFETY)
        await turns(6)
        assert link.payloads == [b"OFF"], "within a few turns of the loop; nothing is polled"


async def test_a_full_backlog_does_not_keep_safety_from_an_idle_worker(own: Owner) -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=BLOCKED_S)
    async with own(link, max_depth=1) as dispatcher:
        await dispatcher.submit("block", b"BLOCK?", POLL)
        await until(lambda: link.sent)
        await dispatcher.submit("wait", b"BLOCK?", POLL)
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        async with asyncio.timeout(2.0):
            await estop
    assert link.payloads[1] == b"OFF"


async def test_an_estop_behind_two_hundred_polls_waits_for_at_most_the_one_in_flight(
    own: Owner,
) -> None:
    link = ScriptedLink({b"MEAS?": b"1.0"}, latency_s=0.012)
    async with own(link, max_depth=200) as dispatcher:
        for number in range(200):
            await dispatcher.submit(f"poll{number}", b"MEAS?", POLL, timeout=1.0)
        await until(lambda: len(link.sent) > 2)
        before = len(link.sent)
        submitted = time.monotonic()
        estop = await dispatcher.submit("estop", b"OUTP OFF", SAFETY)
        await estop
        elapsed_s = time.monotonic() - submitted
        # None of the polls is sent between: the one that was in flight ends, then the E-stop.
        assert link.payloads[before] == b"OUTP OFF"
        assert elapsed_s < 0.05 + LOADED_S
        assert dispatcher.pending >= 190
        record = record_of(dispatcher, "estop")
        assert record.dispatch_latency_s is not None
        assert record.dispatch_latency_s <= record.bound_s <= 1.0
        await dispatcher.abort_low_priority()


async def test_a_transaction_is_never_interleaved(own: Owner) -> None:
    log: list[str] = []

    class Watched(ScriptedLink):
        async def write(self, payload: bytes, /) -> None:
            log.append(f"w{payload.decode()}")
            await super().write(payload)

        async def read(self) -> bytes:
            reply = await super().read()
            log.append(f"r{reply.decode()}")
            return reply

    link = Watched({b"%d?" % n: b"%d" % n for n in range(20)}, latency_s=0.001)
    async with own(link) as dispatcher:
        futures = [await dispatcher.submit(f"c{n}", b"%d?" % n, Priority(n % 4)) for n in range(20)]
        assert await asyncio.gather(*futures) == [b"%d" % n for n in range(20)]
    assert [(w[1:-1], r[1:]) for w, r in zip(log[::2], log[1::2], strict=True)] == [
        (w[1:-1], w[1:-1]) for w in log[::2]
    ]
    assert len(outcomes(dispatcher)) == 20
