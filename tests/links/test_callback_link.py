"""`CallbackLink`: a link made of two callables."""

import asyncio
import time

import pytest

from pytest_safetyq.links import CallbackLink, DeadlineLink, Link


class Calls:
    """Two callables that write down how they were called."""

    def __init__(self, *replies: bytes) -> None:
        self.replies = list(replies)
        self.written: list[bytes] = []

    async def read(self) -> bytes:
        if not self.replies:
            await asyncio.get_running_loop().create_future()
        return self.replies.pop(0)

    async def write(self, payload: bytes) -> None:
        self.written.append(payload)


def nothing_came() -> None:
    pytest.fail("a reply was discarded that nobody sent")


async def test_it_is_a_link() -> None:
    calls = Calls()
    assert isinstance(CallbackLink(calls.read, calls.write), Link)
    assert not isinstance(CallbackLink(calls.read, calls.write), DeadlineLink)


async def test_it_hands_messages_and_replies_on_unchanged() -> None:
    calls = Calls(b"reply\r\n")
    link = CallbackLink(calls.read, calls.write)
    await link.write(b"Q?")
    assert await link.read() == b"reply\r\n"
    assert calls.written == [b"Q?"]


async def test_it_throws_away_the_replies_that_are_owed_and_no_more() -> None:
    calls = Calls(b"stale1", b"stale2", b"fresh")
    link = CallbackLink(calls.read, calls.write)
    discarded: list[None] = []
    await link.resynchronise(owed=2, lost=False, discard=lambda: discarded.append(None))
    assert len(discarded) == 2
    assert await link.read() == b"fresh"
    assert calls.written == [], "it knows no message that would be safe to send"


async def test_it_waits_for_a_late_reply_no_longer_than_its_budget() -> None:
    calls = Calls()
    link = CallbackLink(calls.read, calls.write)
    started = time.monotonic()
    await link.resynchronise(owed=1, lost=True, discard=nothing_came)
    assert link.resync_budget_s - 0.001 <= time.monotonic() - started < 3.0


async def test_it_has_nothing_to_wait_for_when_nothing_is_owed() -> None:
    calls = Calls()
    link = CallbackLink(calls.read, calls.write)
    async with asyncio.timeout(0.4):
        await link.resynchronise(owed=0, lost=True, discard=nothing_came)


async def test_closing_it_leaves_the_callables_alone() -> None:
    calls = Calls(b"1")
    link = CallbackLink(calls.read, calls.write)
    await link.close()
    await link.close()
    await link.write(b"X")
    assert await link.read() == b"1"
