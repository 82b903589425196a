"""The budget of a transaction, and which commands have a reply."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from dispatcher_helpers import Owner, never, record_of, until

from pytest_safetyq import Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


async def no_read() -> bytes:
    await never()
    return b""


async def instant_write(payload: bytes) -> None:
    del payload


async def endless_write(payload: bytes) -> None:
    del payload
    await never()


async def slow_write(payload: bytes) -> None:
    del payload
    await asyncio.sleep(0.15)


async def slow_read() -> bytes:
    await asyncio.sleep(0.15)
    return b"late"


@pytest.mark.parametrize(
    ("read", "write", "delay_s"),
    [
        (no_read, endless_write, 0.0),
        (no_read, instant_write, 0.0),
        (slow_read, instant_write, 30.0),
        (slow_read, slow_write, 0.0),
        (slow_read, instant_write, 0.15),
    ],
    ids=["write", "read", "delay", "write and read together", "delay and read together"],
)
async def test_the_budget_covers_write_delay_and_read(
    read: Callable[[], Awaitable[bytes]],
    write: Callable[[bytes], Awaitable[None]],
    delay_s: float,
) -> None:
    async with SafetyAwareDispatcher(read, write, inter_command_delay=delay_s) as dispatcher:
        started = time.monotonic()
        future = await dispatcher.submit("q", b"Q?", QUERY, timeout=0.2)
        with pytest.raises(TransactionTimeout, match=r" within 0\.2 s$") as caught:
            await future
        assert 0.2 <= time.monotonic() - started + 0.001 < 2.0
    assert isinstance(caught.value, TimeoutError)
    assert record_of(dispatcher, "q").outcome == "timeout"


async def test_a_trickling_reply_does_not_stretch_the_budget() -> None:
    async def trickle() -> bytes:
        reply = b""
        for _ in range(100):
            await asyncio.sleep(0.02)
            reply += b"x"
        return reply

    async with SafetyAwareDispatcher(trickle, instant_write) as dispatcher:
        started = time.monotonic()
        future = await dispatcher.submit("q", b"Q?", QUERY, timeout=0.1)
        with pytest.raises(TransactionTimeout):
            await future
        assert time.monotonic() - started < 1.0


async def test_the_budget_starts_when_the_command_is_sent_not_when_it_is_submitted(
    own: Owner,
) -> None:
    link = ScriptedLink({b"SLOW?": b"1", b"Q?": b"2"}).on(b"SLOW?", b"1", after_s=0.4)
    async with own(link) as dispatcher:
        await dispatcher.submit("slow", b"SLOW?", QUERY)
        future = await dispatcher.submit("q", b"Q?", QUERY, timeout=0.3)
        assert await future == b"2"


async def test_the_delay_is_waited_after_the_write_and_before_the_read() -> None:
    steps: list[tuple[str, float]] = []

    async def read() -> bytes:
        steps.append(("read", time.monotonic()))
        return b"1"

    async def write(payload: bytes) -> None:
        steps.append((payload.decode(), time.monotonic()))

    async with SafetyAwareDispatcher(read, write, inter_command_delay=0.05) as dispatcher:
        await dispatcher.submit("set", b"SET 1", CONTROL)
        await (await dispatcher.submit("q", b"Q?", QUERY))
    assert [step for step, _ in steps] == ["SET 1", "Q?", "read"]
    assert steps[1][1] - steps[0][1] >= 0.049, "after a write without a reply too"
    assert steps[2][1] - steps[1][1] >= 0.049


@pytest.mark.parametrize(
    ("payload", "expect_reply", "reply"),
    [
        (b"Q?", None, b"reply"),
        (b"SET", None, b""),
        (b"SET", True, b"reply"),
        (b"Q?", False, b""),
        (b'DISP "really?"', None, b""),
        (b"DISP 'really?';VOLT?", None, b"reply"),
    ],
)
async def test_a_reply_is_read_if_the_payload_asks_or_the_caller_says_so(
    payload: bytes, expect_reply: bool | None, reply: bytes
) -> None:
    reads = 0

    async def read() -> bytes:
        nonlocal reads
        reads += 1
        return b"reply"

    async with SafetyAwareDispatcher(read, instant_write) as dispatcher:
        future = await dispatcher.submit("c", payload, CONTROL, expect_reply=expect_reply)
        assert await future == reply
    assert reads == (reply != b"")


async def test_an_output_off_that_has_no_reply_does_not_time_out(own: Owner) -> None:
    link = ScriptedLink()
    async with own(link) as dispatcher:
        assert await (await dispatcher.submit("off", b"OUTP OFF", SAFETY, timeout=0.1)) == b""
    assert record_of(dispatcher, "off").outcome == "ok"


async def test_no_budget_is_charged_for_a_wait_for_a_reply_that_is_not_read(own: Owner) -> None:
    link = ScriptedLink({b"Q?": b"unwanted"}, latency_s=5.0)
    async with own(link) as dispatcher:
        future = await dispatcher.submit("q", b"Q?", CONTROL, timeout=2.0, expect_reply=False)
        await until(future.done)
        assert future.result() == b""
