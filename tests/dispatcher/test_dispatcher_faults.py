"""No failure of one command ends the worker; and if it dies all the same, nobody is left."""

import asyncio
import gc
import logging
import warnings
from collections.abc import Awaitable, Callable

import pytest
from dispatcher_helpers import Owner, never, on_link, stubborn, turns, until

from pytest_safetyq import LinkLost, Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.dispatcher.exchange import Exchange
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority
Read = Callable[[], Awaitable[bytes]]
Write = Callable[[bytes], Awaitable[None]]

ERRORS = [OSError("x"), ValueError("x"), LinkLost("x"), TimeoutError("x"), KeyError("x")]


class Fatal(BaseException):
    """Somebody means to end the process."""


class Wire:
    """Two callables: the second message is answered like the first, if the first let it."""

    def __init__(self, *, read: Read | None = None, write: Write | None = None) -> None:
        self.sent: list[bytes] = []
        self._bad_read, self._bad_write = read, write

    async def write(self, payload: bytes) -> None:
        self.sent.append(payload)
        if self._bad_write is not None and payload == b"BAD?":
            await self._bad_write(payload)

    async def read(self) -> bytes:
        if self._bad_read is not None and self.sent[-1] == b"BAD?":
            return await self._bad_read()
        return b"reply to " + self.sent[-1]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("where", ["read", "write"])
async def test_an_error_of_a_callback_is_the_submitters_and_the_next_is_served(
    where: str, error: Exception
) -> None:
    async def bad(*arguments: bytes) -> bytes:
        raise error

    bad_write: Write | None = bad if where == "write" else None  # type: ignore[assignment]
    wire = Wire(read=bad if where == "read" else None, write=bad_write)
    async with SafetyAwareDispatcher(wire.read, wire.write) as dispatcher:
        expected = TransactionTimeout if isinstance(error, TimeoutError) else type(error)
        with pytest.raises(expected):
            await (await dispatcher.submit("bad", b"BAD?", QUERY))
        off = await dispatcher.submit("off", b"OFF", SAFETY)
        assert await off == b""
    assert wire.sent == [b"BAD?", b"OFF"]


@pytest.mark.parametrize("where", ["read", "write"])
async def test_a_callback_that_raises_cancelled_error_itself_cancels_nobody(where: str) -> None:
    async def bad(*arguments: bytes) -> bytes:
        raise asyncio.CancelledError

    bad_write: Write | None = bad if where == "write" else None  # type: ignore[assignment]
    wire = Wire(read=bad if where == "read" else None, write=bad_write)
    async with SafetyAwareDispatcher(wire.read, wire.write) as dispatcher:
        future = await dispatcher.submit("bad", b"BAD?", QUERY)
        with pytest.raises(LinkLost):
            await future
        assert await (await dispatcher.submit("off", b"OFF", SAFETY)) == b""


async def test_a_callback_that_swallows_cancellation_does_not_hold_its_submitter() -> None:
    release = asyncio.Event()

    async def bad() -> bytes:
        await stubborn(release)
        return b"far too late"

    wire = Wire(read=bad)
    async with SafetyAwareDispatcher(wire.read, wire.write) as dispatcher:
        future = await dispatcher.submit("bad", b"BAD?", QUERY, timeout=0.05)
        done, _ = await asyncio.wait({future}, timeout=2.0)
        release.set()
        assert done == {future}
        with pytest.raises(TransactionTimeout):
            await future
        good = await dispatcher.submit("good", b"GOOD?", QUERY)
        # The stale bytes of the one left behind went to nobody.
        (result,) = await asyncio.gather(good, return_exceptions=True)
        assert result != b"far too late"


async def test_a_call_left_behind_is_remembered_although_its_caller_is_cancelled_twice(
    release: asyncio.Event,
) -> None:
    class Stubborn(ScriptedLink):
        async def read(self) -> bytes:
            await stubborn(release)
            return b"late"

    exchange = Exchange("smu", Stubborn(resync_budget_s=0.05), delay_s=0.0)
    transacting = asyncio.create_task(exchange.transact(b"Q?", expects_reply=True, budget_s=5.0))
    await until(lambda: exchange.written_s)
    for _ in range(2):
        transacting.cancel()
        await asyncio.sleep(0)
    await asyncio.wait({transacting})
    assert transacting.cancelled()
    with pytest.raises(LinkLost, match="has not returned yet"):
        await exchange.restore(expects_reply=True)
    release.set()
    await exchange.restore(expects_reply=True)


async def test_of_two_calls_that_are_left_behind_none_is_forgotten(
    release: asyncio.Event,
) -> None:
    second = asyncio.Event()

    class Stubborn(ScriptedLink):
        async def read(self) -> bytes:
            await stubborn(release if self.payloads[-1] == b"A?" else second)
            return b"late"

    exchange = Exchange("smu", Stubborn(resync_budget_s=0.05), delay_s=0.0)
    for payload in (b"A?", b"B?"):
        with pytest.raises(TransactionTimeout):
            await exchange.transact(payload, expects_reply=True, budget_s=0.02)
    second.set()
    with pytest.raises(LinkLost, match="has not returned yet"):
        await exchange.restore(expects_reply=True)
    release.set()
    await exchange.restore(expects_reply=True)


@pytest.mark.usefixtures("short_drain")
async def test_a_callback_that_turns_its_cancellation_into_a_reply_answers_nobody() -> None:
    async def bad() -> bytes:
        try:
            await never()
        except asyncio.CancelledError:
            return b"stale"
        return b""

    wire = Wire(read=bad)
    async with SafetyAwareDispatcher(wire.read, wire.write) as dispatcher:
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("bad", b"BAD?", QUERY, timeout=0.03))
        # The read callback of the next drain would answer at once: it is discarded.
        assert await (await dispatcher.submit("good", b"GOOD?", QUERY)) == b"reply to GOOD?"


async def test_a_callback_that_is_no_coroutine_fails_its_command_only() -> None:
    def write(payload: bytes) -> None:
        sent.append(payload)

    async def read() -> bytes:
        return b"1"

    sent: list[bytes] = []
    async with SafetyAwareDispatcher(read, write) as dispatcher:  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            await (await dispatcher.submit("x", b"X", CONTROL))
        assert dispatcher.pending == 0
        with pytest.raises(TypeError):
            await (await dispatcher.submit("x", b"X", CONTROL))


async def test_many_failures_in_a_row_do_not_end_the_worker(own: Owner) -> None:
    link = ScriptedLink({b"OK?": b"1"}, resync_budget_s=0.0)
    for n in range(20):
        link.on(b"BAD?", ValueError(str(n)))
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        futures = [await dispatcher.submit(f"b{n}", b"BAD?", QUERY) for n in range(20)]
        results = await asyncio.gather(*futures, return_exceptions=True)
        assert [str(result) for result in results] == [str(n) for n in range(20)]
        assert await (await dispatcher.submit("ok", b"OK?", QUERY)) == b"1"


async def test_failures_that_nobody_looks_at_raise_no_alarm(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    async with own(ScriptedLink().on(b"BAD?", ValueError("x"))) as dispatcher:
        await dispatcher.submit("bad", b"BAD?", QUERY)
        await until(lambda: dispatcher.records)
        await turns()
    assert [r for r in caplog.records if r.name == "asyncio"] == []


async def killed_worker(own: Owner) -> tuple[SafetyAwareDispatcher, list[asyncio.Future[bytes]]]:
    """Return a dispatcher whose worker died with one command in flight and three waiting."""
    link = ScriptedLink().on(b"FATAL?", Fatal("the end"), after_s=0.02)
    dispatcher = own(link, name="doomed")
    await dispatcher.start()
    futures = [await dispatcher.submit("fatal", b"FATAL?", QUERY)]
    await until(lambda: link.sent)
    futures += [await dispatcher.submit(p.name, b"X", p) for p in (SAFETY, CONTROL, POLL)]
    return dispatcher, futures


async def test_a_worker_that_dies_fails_every_waiting_future(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: None)
    dispatcher, futures = await killed_worker(own)
    async with asyncio.timeout(3.0):
        await asyncio.wait(futures)
    assert isinstance(futures[0].exception(), Fatal)
    for future in futures[1:]:
        error = future.exception()
        assert isinstance(error, LinkLost)
        assert "doomed" in str(error)
        assert isinstance(error.__cause__, Fatal)
    assert dispatcher.pending == 0
    critical = [r for r in caplog.records if r.levelno == logging.CRITICAL]
    assert ["doomed" in r.message for r in critical] == [True]
    for priority in Priority:
        with pytest.raises(LinkLost, match="died"):
            await dispatcher.submit("later", b"X", priority)
    await dispatcher.stop()


async def test_a_repeat_of_an_estop_that_waits_when_the_worker_dies_is_told_too() -> None:
    dispatcher, futures = await killed_worker(on_link)
    repeat = await dispatcher.submit(SAFETY.name, b"X", SAFETY)
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    await asyncio.wait({*futures, repeat}, timeout=3.0)
    assert isinstance(repeat.exception(), LinkLost)


async def test_a_job_that_waits_when_the_worker_dies_is_told() -> None:
    link = ScriptedLink().on(b"FATAL?", Fatal("the end"), after_s=0.02)
    dispatcher = SafetyAwareDispatcher.on(link)
    await dispatcher.start()
    await dispatcher.submit("fatal", b"FATAL?", QUERY)
    await until(lambda: link.sent)
    running = asyncio.create_task(dispatcher.run_job(lambda txn: txn(b"J"), QUERY))
    await asyncio.wait({running}, timeout=2.0)
    assert isinstance(running.exception(), LinkLost)


async def test_cancelling_the_worker_leaves_nobody_waiting(own: Owner) -> None:
    link = ScriptedLink()
    dispatcher = own(link, name="doomed")
    await dispatcher.start()
    in_flight = await dispatcher.submit("silent", b"SILENT?", QUERY, timeout=60.0)
    await until(lambda: link.sent)
    waiting = await dispatcher.submit("x", b"X", CONTROL)
    (worker,) = [t for t in asyncio.all_tasks() if t.get_name() == "safetyq doomed"]
    worker.cancel()
    done, _ = await asyncio.wait({worker}, timeout=2.0)
    assert done == {worker}
    assert worker.cancelled()
    await turns()
    assert in_flight.done()
    assert waiting.done()
    with pytest.raises(LinkLost):
        await dispatcher.submit("x", b"X", SAFETY)
    await dispatcher.stop()


async def test_an_idle_worker_can_be_cancelled(own: Owner) -> None:
    dispatcher = own(ScriptedLink(), name="doomed")
    await dispatcher.start()
    await turns()
    (worker,) = [t for t in asyncio.all_tasks() if t.get_name() == "safetyq doomed"]
    worker.cancel()
    done, _ = await asyncio.wait({worker}, timeout=2.0)
    assert done == {worker}
    await dispatcher.stop()


async def test_everything_cancelled_when_a_call_begins_leaves_no_coroutine_unawaited() -> None:
    """As at the end of `asyncio.run`: pytest makes the warning an error."""
    exchange = Exchange("smu", ScriptedLink(), delay_s=0.0)
    transacting = asyncio.create_task(exchange.transact(b"X", expects_reply=False, budget_s=5.0))
    await asyncio.sleep(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.wait({transacting})
        await turns()
        gc.collect()
    assert transacting.cancelled()
    assert [str(warning.message) for warning in caught] == []
