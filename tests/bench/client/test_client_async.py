"""`AsyncInstrument`: the same names, awaited, in any event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest
from bench_rig import SMU, Rig, all_end, bounded, until, until_async

from pytest_safetyq import (
    BacklogFull,
    EStopLatched,
    LimitExceeded,
    Priority,
    TransactionTimeout,
)
from pytest_safetyq.bench import AsyncInstrument, EStopReport, Instrument

IDENTITY = "KEITHLEY INSTRUMENTS INC.,MODEL 2400,SIM0001,C32"


def test_both_handles_have_the_same_names() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert names(AsyncInstrument) == names(Instrument)


async def test_every_method_awaited(rig: Rig) -> None:
    smu = rig.async_smu
    assert (smu.name, smu.resource_name, smu.model) == ("smu", SMU, "keithley-2400")
    assert smu.simulated
    assert not smu.latched
    await smu.write(":SOUR:VOLT 3")
    assert rig.sent()[-1] == ":SOUR:VOLT 3"
    await smu.write_raw(b":SOUR:VOLT 4\n")
    assert rig.sent()[-1] == ":SOUR:VOLT 4"
    assert await smu.query("*IDN?") == IDENTITY
    assert await smu.query_raw(b":OUTP?\n") == b"0\n"
    future = await smu.submit(":OUTP?", priority=Priority.QUERY)
    assert isinstance(future, asyncio.Future)
    assert await future == "0"
    assert await (await smu.submit("*CLS", priority=Priority.CONTROL)) == ""
    report = await smu.estop("because")
    assert isinstance(report, EStopReport)
    assert (report.confirmed, report.reason, report.instrument) == (True, "because", "smu")
    assert smu.latched


async def test_the_priority_of_each_call(rig: Rig) -> None:
    smu = rig.async_smu
    await smu.write("*CLS")
    await smu.query(":OUTP?")
    await smu.query_ascii_values(":OUTP?")
    await smu.query(":OUTP?", priority=Priority.POLL)
    assert [record.priority for record in rig.safety.records] == [
        Priority.CONTROL,
        Priority.QUERY,
        Priority.QUERY,
        Priority.POLL,
    ]


async def test_failures(rig: Rig) -> None:
    smu = rig.async_smu
    count = len(rig.sent())
    with pytest.raises(LimitExceeded):
        await smu.write(":SOUR:VOLT 21")
    with pytest.raises(LimitExceeded):
        await smu.submit(":SOUR:VOLT 21", priority=Priority.CONTROL)
    with pytest.raises(ValueError, match="Latin-1"):
        await smu.query("\u03a9?")
    assert len(rig.sent()) == count
    with pytest.raises(TransactionTimeout):
        await smu.query(":FETC?", timeout_s=0.05)
    assert await smu.query(":OUTP?") == "0"
    await smu.estop()
    with pytest.raises(EStopLatched):
        await smu.query(":OUTP?")
    with pytest.raises(EStopLatched):
        await smu.submit(":OUTP ON", priority=Priority.CONTROL)


async def test_a_full_queue(rig: Rig) -> None:
    with rig.held():
        futures = [await rig.async_smu.submit("*CLS", priority=Priority.POLL) for _ in range(256)]
        with pytest.raises(BacklogFull):
            await rig.async_smu.write("*CLS")
        for future in futures:
            future.cancel()
        await until_async(lambda: rig.dispatcher.pending == 0, "the queue is empty")


async def test_many_at_once_get_their_own_replies(rig: Rig) -> None:
    smu = rig.async_smu
    asked = {":OUTP?": "0", "*IDN?": IDENTITY, ":DATA:SEMI?": "1;2;3"}
    replies = await asyncio.gather(*(smu.query(query) for query in list(asked) * 20))
    assert replies == list(asked.values()) * 20


def test_one_handle_in_one_loop_after_the_other(rig: Rig) -> None:
    smu = rig.async_smu
    assert [asyncio.run(smu.query(":OUTP?")) for _ in range(5)] == ["0"] * 5


def test_one_handle_in_two_loops_at_once(rig: Rig) -> None:
    smu = rig.async_smu
    wrong: list[str] = []

    async def ask(query: str, expected: str) -> None:
        for _ in range(40):
            if (reply := await smu.query(query)) != expected:
                wrong.append(reply)

    threads = [
        threading.Thread(target=asyncio.run, args=(ask(query, reply),))
        for query, reply in (("*IDN?", IDENTITY), (":OUTP?", "0"))
    ]
    all_end(threads)
    assert wrong == []
    assert len(rig.safety.records) == 80


async def test_a_cancelled_await_withdraws_what_waits(rig: Rig) -> None:
    with rig.held():
        task = asyncio.create_task(rig.async_smu.write(":SOUR:VOLT 7"))
        await until_async(lambda: rig.waiting(Priority.CONTROL) == 1, "it waits")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until_async(lambda: rig.waiting(Priority.CONTROL) == 0, "it is withdrawn")
    assert await rig.async_smu.query(":OUTP?") == "0"
    assert ":SOUR:VOLT 7" not in rig.sent()


async def test_a_timeout_around_a_query(rig: Rig) -> None:
    with rig.held(), pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await rig.async_smu.query("*IDN?")
    assert await rig.async_smu.query(":OUTP?") == "0"


async def test_a_query_that_is_cancelled_in_flight_answers_nobody(rig: Rig) -> None:
    count = len(rig.sent())
    task = asyncio.create_task(rig.async_smu.query(":READ?"))
    await until_async(lambda: ":READ?" in rig.sent()[count:], "it is in flight")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await rig.async_smu.query(":OUTP?") == "0"
    assert await rig.async_smu.query("*IDN?") == IDENTITY


async def test_a_future_that_is_cancelled_at_once_is_not_sent(rig: Rig) -> None:
    with rig.held():
        future = await rig.async_smu.submit(":SOUR:VOLT 6", priority=Priority.CONTROL)
        future.cancel()
        with pytest.raises(asyncio.CancelledError):
            await future
        await until_async(lambda: rig.waiting(Priority.CONTROL) == 0, "it is withdrawn")
    assert await rig.async_smu.query(":OUTP?", priority=Priority.POLL) == "0"
    assert ":SOUR:VOLT 6" not in rig.sent()


async def test_a_future_that_is_cancelled_later_is_not_sent(rig: Rig) -> None:
    with rig.held():
        future = await rig.async_smu.submit(":SOUR:VOLT 5", priority=Priority.CONTROL)
        await asyncio.sleep(0)
        future.cancel()
        with pytest.raises(asyncio.CancelledError):
            await future
        await until_async(lambda: rig.waiting(Priority.CONTROL) == 0, "it is withdrawn")
    assert await rig.async_smu.query(":OUTP?", priority=Priority.POLL) == "0"
    assert ":SOUR:VOLT 5" not in rig.sent()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("by", ["instrument", "dispatcher"])
def test_a_submit_that_is_cancelled_does_not_break_the_connection(own: Rig, by: str) -> None:
    async def submit_and_cancel() -> None:
        for _ in range(30):
            task: asyncio.Task[asyncio.Future[str] | asyncio.Future[bytes]]
            if by == "instrument":
                task = asyncio.create_task(own.async_smu.submit("*CLS", priority=Priority.POLL))
            else:
                task = asyncio.create_task(own.dispatcher.submit("c", b"*CLS", Priority.POLL))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(submit_and_cancel())
    assert bounded(lambda: own.smu.query(":OUTP?")) == "0"


async def test_a_failed_future_that_nobody_awaits_is_silent(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    await rig.async_smu.submit(":FETC?", priority=Priority.QUERY, timeout_s=0.02)
    assert await rig.async_smu.query(":OUTP?") == "0"
    with rig.held():
        future = await rig.async_smu.submit("*CLS", priority=Priority.CONTROL)
        await rig.async_smu.estop("flushes what waits")
    with pytest.raises(EStopLatched):
        await future
    del future
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def test_an_estop_that_is_cancelled_is_carried_out(rig: Rig) -> None:
    await rig.async_smu.write(":OUTP ON")
    task = asyncio.create_task(rig.async_smu.estop())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_async(lambda: rig.smu.latched and not rig.is_on, "it is off and latched")


async def test_the_callback_of_a_poll_runs_in_the_loop(rig: Rig) -> None:
    loops: list[asyncio.AbstractEventLoop] = []
    threads: set[int] = set()
    enough = asyncio.Event()

    def take(reply: str) -> None:
        assert reply == "0"
        loops.append(asyncio.get_running_loop())
        threads.add(threading.get_ident())
        if len(loops) == 3:
            enough.set()

    async with rig.async_smu.poll(":OUTP?", every_s=0.005, callback=take) as stream:
        async with asyncio.timeout(20):
            await enough.wait()
    assert set(loops) == {asyncio.get_running_loop()}
    assert threads == {threading.get_ident()}
    assert stream.count >= 3
    assert stream.latest == "0"
    assert not rig.smu.latched


async def test_a_callback_that_raises_in_the_loop_trips(rig: Rig) -> None:
    def take(reply: str) -> None:
        raise ZeroDivisionError(reply)

    with pytest.raises(ZeroDivisionError):
        async with rig.async_smu.poll(":OUTP?", every_s=0.005, callback=take):
            await until_async(lambda: rig.smu.latched, "it trips")
    assert rig.smu.latched


async def test_a_poll_that_is_cancelled_stops(rig: Rig) -> None:
    stream = rig.async_smu.poll(":OUTP?", every_s=0.002)

    async def poll_for_ever() -> None:
        async with stream:
            await asyncio.Event().wait()

    task = asyncio.create_task(poll_for_ever())
    await until_async(lambda: stream.count > 1, "replies come")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    count = len(rig.sent())
    assert await rig.async_smu.query("*IDN?") == IDENTITY
    assert rig.sent()[count:] == ["*IDN?"]


async def test_a_watch_trips_although_the_loop_is_blocked(rig: Rig) -> None:
    await rig.async_smu.write(":OUTP ON")
    async with rig.async_smu.watch(
        ":OUTP?", every_s=0.005, trip_when=lambda reply: reply == "1"
    ) as watch:
        until(lambda: not rig.is_on, "the output goes off")  # blocks the loop
    assert watch.tripped
    assert rig.smu.latched


async def test_the_loop_is_free_while_a_query_waits(rig: Rig) -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    with rig.held():
        turning = asyncio.create_task(turn())
        query = asyncio.create_task(rig.async_smu.query(":OUTP?"))
        await until_async(lambda: turns >= 100, "the loop turns")
        assert not query.done()
    assert await query == "0"
    turning.cancel()
