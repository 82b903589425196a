"""Tripping, what is refused then, and rearming."""

import asyncio

import pytest
from dispatcher_helpers import BLOCKED_S, Owner, outcomes, record_of, until

from pytest_safetyq import EStopLatched, Priority
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


async def test_a_trip_flushes_everything_but_safety_and_says_how_many(own: Owner) -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=BLOCKED_S)
    async with own(link) as dispatcher:
        in_flight = await dispatcher.submit("block", b"BLOCK?", QUERY)
        await until(lambda: link.sent)
        futures = [await dispatcher.submit(p.name, p.name.encode(), p) for p in Priority]
        assert not dispatcher.latched
        assert await dispatcher.trip("overheated") == 3
        assert dispatcher.latched
        assert dispatcher.pending_by_priority == {SAFETY: 1, CONTROL: 0, QUERY: 0, POLL: 0}
        results = await asyncio.gather(in_flight, *futures, return_exceptions=True)
    assert results[:2] == [b"1", b""]
    for refused in results[2:]:
        assert isinstance(refused, EStopLatched)
        assert "overheated" in str(refused)
    assert link.payloads == [b"BLOCK?", b"SAFETY"]
    assert {outcome for name, outcome in outcomes(dispatcher) if name in ("QUERY", "POLL")} == {
        "refused"
    }


@pytest.mark.parametrize("priority", [CONTROL, QUERY, POLL])
async def test_a_latched_dispatcher_refuses_at_once_whatever_is_not_safety(
    own: Owner, priority: Priority
) -> None:
    link = ScriptedLink()
    async with own(link, name="smu") as dispatcher:
        await dispatcher.trip("smoke")
        with pytest.raises(EStopLatched, match=r"smu.*smoke"):
            await dispatcher.submit("x", b"READ?", priority)
        assert dispatcher.pending == 0
    assert link.payloads == []
    record = record_of(dispatcher, "x")
    assert (record.outcome, record.dispatched_s) == ("refused", None)


async def test_safety_is_accepted_while_latched(own: Owner) -> None:
    link = ScriptedLink({b"OUTP?": b"0"})
    async with own(link) as dispatcher:
        await dispatcher.trip("smoke")
        assert await (await dispatcher.submit("off", b"OFF", SAFETY)) == b""
        assert await (await dispatcher.submit("confirm", b"OUTP?", SAFETY)) == b"0"
        assert dispatcher.latched


async def test_a_latched_and_full_dispatcher_still_takes_safety(own: Owner) -> None:
    async with own(ScriptedLink(), max_depth=0) as dispatcher:
        await dispatcher.trip("smoke")
        assert await (await dispatcher.submit("off", b"OFF", SAFETY)) == b""


async def test_a_refusal_says_latched_rather_than_full(own: Owner) -> None:
    async with own(ScriptedLink(), max_depth=0) as dispatcher:
        await dispatcher.trip("smoke")
        with pytest.raises(EStopLatched):
            await dispatcher.submit("x", b"X", CONTROL)


async def test_rearming_lets_commands_in_again_and_sends_nothing(own: Owner) -> None:
    link = ScriptedLink()
    async with own(link) as dispatcher:
        await dispatcher.trip("smoke")
        dispatcher.rearm("looked at it")
        assert not dispatcher.latched
        assert link.payloads == []
        assert await (await dispatcher.submit("x", b"X", POLL)) == b""


async def test_the_latch_holds_until_it_is_rearmed_however_often_it_trips(own: Owner) -> None:
    async with own(ScriptedLink()) as dispatcher:
        await dispatcher.trip("first")
        assert await dispatcher.trip("second") == 0
        with pytest.raises(EStopLatched, match="second"):
            await dispatcher.submit("x", b"X", CONTROL)
        dispatcher.rearm("fine")
        assert not dispatcher.latched
        await dispatcher.trip("third")
        assert dispatcher.latched


async def test_rearming_what_never_tripped_is_harmless(own: Owner) -> None:
    async with own(ScriptedLink()) as dispatcher:
        dispatcher.rearm("why not")
        assert not dispatcher.latched


async def test_the_latch_keeps_the_reason_of_the_last_trip(own: Owner) -> None:
    async with own(ScriptedLink()) as dispatcher:
        assert dispatcher.latch.reason == ""
        await dispatcher.trip("smoke")
        dispatcher.rearm("fine")
        assert dispatcher.latch.reason == "smoke"


async def test_one_can_trip_before_the_start(own: Owner) -> None:
    link = ScriptedLink()
    dispatcher = own(link)
    waiting = await dispatcher.submit("x", b"X", CONTROL)
    assert await dispatcher.trip("smoke") == 1
    with pytest.raises(EStopLatched):
        await waiting
    async with dispatcher:
        assert dispatcher.latched
    assert link.payloads == []


async def test_flushed_commands_whose_owners_are_gone_raise_no_alarm(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=BLOCKED_S)
    async with own(link) as dispatcher:
        await dispatcher.submit("block", b"BLOCK?", QUERY)
        await until(lambda: link.sent)
        for _ in range(3):
            await dispatcher.submit("p", b"P", POLL)
        assert await dispatcher.trip("smoke") == 3
    assert [r for r in caplog.records if r.name == "asyncio"] == []
