"""`ScriptedLink`: a link that follows a script."""

import asyncio
import dataclasses
import time

import pytest

from pytest_safetyq import LinkLost
from pytest_safetyq.links import InterruptibleLink, Link, ScriptedLink, SentMessage


async def test_it_is_a_link() -> None:
    assert isinstance(ScriptedLink(), Link)


async def test_it_answers_as_listed() -> None:
    link = ScriptedLink({b"A?": b"a", b"B?": lambda message: message[::-1]})
    await link.write(b"A?")
    assert await link.read() == b"a"
    await link.write(b"B?")
    assert await link.read() == b"?B"


async def test_what_is_not_listed_is_swallowed_in_silence() -> None:
    link = ScriptedLink({b"A?": b"a"})
    await link.write(b"OUTP OFF")
    assert not link.unread
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await link.read()


async def test_it_writes_down_what_was_sent_and_when() -> None:
    link = ScriptedLink()
    before = time.monotonic()
    await link.write(b"A")
    await link.write(b"B")
    assert link.payloads == [b"A", b"B"]
    assert before <= link.sent[0].at_s <= link.sent[1].at_s <= time.monotonic()
    with pytest.raises(dataclasses.FrozenInstanceError):
        link.sent[0].payload = b"C"  # type: ignore[misc]
    assert isinstance(link.sent[0], SentMessage)


async def test_answers_given_with_on_are_used_up_once_each_before_the_list() -> None:
    link = ScriptedLink({b"A?": b"listed"}).on(b"A?", b"first", b"second")
    replies = []
    for _ in range(4):
        await link.write(b"A?")
        replies.append(await link.read())
    assert replies == [b"first", b"second", b"listed", b"listed"]


async def test_calls_of_on_add_up() -> None:
    link = ScriptedLink().on(b"A?", b"1").on(b"A?", b"2")
    replies = []
    for _ in range(2):
        await link.write(b"A?")
        replies.append(await link.read())
    assert replies == [b"1", b"2"]


async def test_an_answer_of_none_is_silence() -> None:
    link = ScriptedLink({b"A?": b"a"}).on(b"A?", None)
    await link.write(b"A?")
    assert not link.unread
    await link.write(b"A?")
    assert await link.read() == b"a"


async def test_an_exception_is_raised_from_the_read() -> None:
    link = ScriptedLink().on(b"A?", OSError("scripted"))
    await link.write(b"A?")
    with pytest.raises(OSError, match="scripted"):
        await link.read()
    assert not link.unread


async def test_a_callable_may_answer_with_silence() -> None:
    link = ScriptedLink({b"A?": lambda message: None})
    await link.write(b"A?")
    assert not link.unread


async def test_replies_come_in_order_though_a_later_one_would_be_quicker() -> None:
    link = ScriptedLink({b"B?": b"b"}).on(b"A?", b"a", after_s=0.03)
    await link.write(b"A?")
    await link.write(b"B?")
    assert [await link.read(), await link.read()] == [b"a", b"b"]


async def test_a_reply_that_was_not_read_is_what_the_next_read_gets() -> None:
    link = ScriptedLink({b"A?": b"stale", b"B?": b"b"})
    await link.write(b"A?")
    await link.write(b"B?")
    assert await link.read() == b"stale"


async def test_a_read_that_was_cancelled_takes_nothing() -> None:
    link = ScriptedLink({b"A?": b"a"}, latency_s=0.05)
    await link.write(b"A?")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await link.read()
    assert await link.read() == b"a"


async def test_a_read_may_begin_before_the_message_is_sent() -> None:
    link = ScriptedLink({b"A?": b"a"})
    reading = asyncio.create_task(link.read())
    await asyncio.sleep(0)
    await link.write(b"A?")
    assert await asyncio.wait_for(reading, 1.0) == b"a"


async def test_latency_and_write_time_are_waited() -> None:
    link = ScriptedLink({b"A?": b"a"}, latency_s=0.03, write_s=0.02)
    started = time.monotonic()
    await link.write(b"A?")
    written = time.monotonic()
    await link.read()
    assert written - started >= 0.019
    assert time.monotonic() - written >= 0.029


async def test_on_has_delays_of_its_own() -> None:
    link = ScriptedLink(latency_s=30.0, write_s=30.0).on(b"A?", b"a", after_s=0.0, write_s=0.01)
    async with asyncio.timeout(5.0):
        await link.write(b"A?")
        assert await link.read() == b"a"


async def test_resynchronising_throws_away_what_is_owed() -> None:
    link = ScriptedLink({b"A?": b"a"}, latency_s=0.02)
    for _ in range(3):
        await link.write(b"A?")
    discarded: list[None] = []
    await link.resynchronise(owed=2, lost=False, discard=lambda: discarded.append(None))
    assert len(discarded) == 2
    assert len(link.unread) == 1
    assert (link.resynchronised, link.reopened) == (1, 0)


async def test_resynchronising_waits_for_its_budget_only() -> None:
    link = ScriptedLink(resync_budget_s=0.03)
    discarded: list[None] = []
    async with asyncio.timeout(2.0):
        await link.resynchronise(owed=1, lost=False, discard=lambda: discarded.append(None))
    assert discarded == []


async def test_a_lost_link_is_reopened_with_an_empty_output_queue() -> None:
    link = ScriptedLink({b"A?": b"a"}, latency_s=60.0)
    await link.write(b"A?")
    await link.write(b"A?")
    discarded: list[None] = []
    async with asyncio.timeout(2.0):
        await link.resynchronise(owed=1, lost=True, discard=lambda: discarded.append(None))
    assert len(discarded) == 2
    assert not link.unread
    assert (link.resynchronised, link.reopened) == (1, 1)


async def test_a_closed_link_takes_no_message_and_closes_twice() -> None:
    link = ScriptedLink()
    assert not link.closed
    await link.close()
    await link.close()
    assert link.closed
    with pytest.raises(LinkLost, match="closed"):
        await link.write(b"A")
    assert link.payloads == []


async def test_an_interrupt_takes_its_time_and_ends_what_is_not_due_yet() -> None:
    link = ScriptedLink({b"A?": b"a"}, interrupt_budget_s=1.0, interrupt_s=0.02)
    link.on(b"SLOW?", b"slow", after_s=30.0)
    await link.write(b"A?")
    await link.write(b"SLOW?")
    begun_s = time.monotonic()
    await link.interrupt(1.0)
    assert time.monotonic() - begun_s >= 0.02
    assert link.interrupted == 1
    assert [answer for _, answer in link.unread] == [b"a"]
    await link.write(b"A?")
    assert [await link.read(), await link.read()] == [b"a", b"a"]


async def test_a_scripted_link_offers_an_interrupt_only_if_it_is_told_to() -> None:
    assert isinstance(ScriptedLink(), InterruptibleLink)
    assert ScriptedLink().interrupt_budget_s is None
