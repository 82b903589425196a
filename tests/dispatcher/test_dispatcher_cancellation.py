"""Cancelled futures, and `abort_low_priority`."""

import asyncio

import pytest
from dispatcher_helpers import BLOCKED_S, Owner, outcomes, record_of, turns, until

from pytest_safetyq import Priority, SafetyAwareDispatcher
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


async def blocked(own: Owner, link: ScriptedLink) -> SafetyAwareDispatcher:
    link.on(b"BLOCK?", b"blocked", after_s=BLOCKED_S)
    dispatcher = own(link)
    await dispatcher.start()
    await dispatcher.submit("block", b"BLOCK?", QUERY)
    await until(lambda: link.sent)
    return dispatcher


@pytest.mark.parametrize("priority", [CONTROL, QUERY, POLL])
async def test_a_waiting_command_that_is_cancelled_is_skipped_and_counted_no_more(
    own: Owner, priority: Priority
) -> None:
    link = ScriptedLink()
    dispatcher = await blocked(own, link)
    gone = await dispatcher.submit("gone", b"GONE", priority)
    kept = await dispatcher.submit("kept", b"KEPT", priority)
    assert dispatcher.pending == 2
    gone.cancel()
    assert dispatcher.pending == 1, "at once, without a turn of the loop"
    assert dispatcher.pending_by_priority[priority] == 1
    await kept
    assert link.payloads == [b"BLOCK?", b"KEPT"]
    assert record_of(dispatcher, "gone").outcome == "cancelled"
    assert record_of(dispatcher, "gone").dispatched_s is None
    await dispatcher.stop()


async def test_a_submitter_who_stops_waiting_withdraws_the_command(own: Owner) -> None:
    link = ScriptedLink()
    dispatcher = await blocked(own, link)
    future = await dispatcher.submit("gone", b"GONE", CONTROL)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.005):
            await future
    assert dispatcher.pending == 0
    await dispatcher.stop()
    assert link.payloads == [b"BLOCK?"]


async def test_one_in_flight_finishes_on_the_wire_and_its_reply_answers_nobody_else(
    own: Owner,
) -> None:
    link = ScriptedLink({b"A?": b"a", b"B?": b"b"}, latency_s=0.03)
    async with own(link) as dispatcher:
        first = await dispatcher.submit("a", b"A?", QUERY)
        await until(lambda: link.sent)
        first.cancel()
        assert dispatcher.running_priority is QUERY
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
    assert first.cancelled()
    assert link.payloads == [b"A?", b"B?"]
    assert not link.unread
    assert link.resynchronised == 0, "it was read in its own transaction"
    assert outcomes(dispatcher) == [("a", "cancelled"), ("b", "ok")]


async def test_one_cancelled_during_its_write_finishes_too(own: Owner) -> None:
    link = ScriptedLink({b"A?": b"a", b"B?": b"b"}, write_s=0.03)
    async with own(link) as dispatcher:
        first = await dispatcher.submit("a", b"A?", QUERY)
        await until(lambda: link.sent)
        first.cancel()
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
    assert not link.unread


@pytest.mark.parametrize("stop_at_once", [False, True])
async def test_safety_is_sent_whoever_has_stopped_waiting_for_it(
    own: Owner, stop_at_once: bool
) -> None:
    link = ScriptedLink()
    dispatcher = await blocked(own, link)
    estop = await dispatcher.submit("estop", b"OFF", SAFETY)
    estop.cancel()
    assert dispatcher.pending == 1
    if not stop_at_once:
        await until(lambda: len(link.sent) == 2)
    await dispatcher.stop()
    assert link.payloads == [b"BLOCK?", b"OFF"]
    assert record_of(dispatcher, "estop").outcome == "ok"


async def test_a_cancelled_command_that_times_out_leaves_no_reply_behind(own: Owner) -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"A?", b"a", after_s=0.2)
    async with own(link) as dispatcher:
        first = await dispatcher.submit("a", b"A?", QUERY, timeout=0.05)
        await until(lambda: link.sent)
        first.cancel()
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
    assert dispatcher.discarded_replies == 1


async def test_abort_takes_query_and_poll_and_leaves_control(own: Owner) -> None:
    link = ScriptedLink()
    dispatcher = await blocked(own, link)
    futures = {
        name: await dispatcher.submit(name, name.encode(), priority)
        for name, priority in [
            ("s", SAFETY), ("c", CONTROL), ("q1", QUERY), ("q2", QUERY), ("p", POLL)
        ]
    }  # fmt: skip
    assert await dispatcher.abort_low_priority() == 3
    assert {name for name, future in futures.items() if future.cancelled()} == {"q1", "q2", "p"}
    assert dispatcher.pending_by_priority == {SAFETY: 1, CONTROL: 1, QUERY: 0, POLL: 0}
    await asyncio.gather(futures["s"], futures["c"])
    assert link.payloads == [b"BLOCK?", b"s", b"c"]
    assert [name for name, outcome in outcomes(dispatcher) if outcome == "cancelled"] == [
        "q1",
        "q2",
        "p",
    ]
    await dispatcher.stop()


@pytest.mark.parametrize(
    ("below", "left"),
    [(SAFETY, {SAFETY}), (CONTROL, {SAFETY, CONTROL}), (QUERY, {SAFETY, CONTROL, QUERY}),
     (POLL, set(Priority))],
)  # fmt: skip
async def test_abort_goes_by_strictly_less_urgent_than_below(
    own: Owner, below: Priority, left: set[Priority]
) -> None:
    dispatcher = await blocked(own, ScriptedLink())
    for priority in Priority:
        await dispatcher.submit(priority.name, priority.name.encode(), priority)
    assert await dispatcher.abort_low_priority(below=below) == 4 - len(left)
    assert {p for p, count in dispatcher.pending_by_priority.items() if count} == left
    await dispatcher.stop()


async def test_abort_goes_by_base_priority_not_by_age(own: Owner) -> None:
    dispatcher = own(ScriptedLink(), tau_age=0.001)
    poll = await dispatcher.submit("poll", b"P", POLL)
    await asyncio.sleep(0.02)
    assert await dispatcher.abort_low_priority() == 1
    assert poll.cancelled()
    await dispatcher.stop()


async def test_abort_leaves_the_transaction_in_flight_alone(own: Owner) -> None:
    link = ScriptedLink({b"P?": b"1"}, latency_s=0.03)
    async with own(link) as dispatcher:
        poll = await dispatcher.submit("poll", b"P?", POLL)
        await until(lambda: link.sent)
        assert await dispatcher.abort_low_priority() == 0
        assert await poll == b"1"


async def test_abort_counts_no_command_that_was_cancelled_before(own: Owner) -> None:
    dispatcher = await blocked(own, ScriptedLink())
    (await dispatcher.submit("p1", b"P", POLL)).cancel()
    await dispatcher.submit("p2", b"P", POLL)
    assert await dispatcher.abort_low_priority() == 1
    await dispatcher.stop()


async def test_abort_takes_a_waiting_job_along_and_it_never_starts(own: Owner) -> None:
    dispatcher = await blocked(own, ScriptedLink())
    started = False

    async def job(txn: object) -> None:
        nonlocal started
        started = True

    running = asyncio.create_task(dispatcher.run_job(job, QUERY))
    await turns()
    assert dispatcher.pending == 1
    assert await dispatcher.abort_low_priority() == 1
    (result,) = await asyncio.gather(running, return_exceptions=True)
    assert isinstance(result, BaseException)
    assert not started
    await dispatcher.stop()
