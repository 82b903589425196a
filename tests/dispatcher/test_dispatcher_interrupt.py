"""A SAFETY command and the transaction in flight, on a link that can break it off."""

import asyncio
import time
from typing import Any

import pytest
from dispatcher_helpers import LOADED_S, on_the_wire, outcomes, record_of, until

from pytest_safetyq import Preempted, Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority
LONG_S = 5.0
INTERRUPT_S = 0.3


def slow_link(**settings: Any) -> ScriptedLink:
    """Return a link that answers ``READ?`` after a long time, and ``B?`` at once."""
    link = ScriptedLink({b"B?": b"b"}, **{"interrupt_budget_s": INTERRUPT_S, **settings})
    return link.on(b"READ?", b"stale", after_s=LONG_S)


async def read_and_stop(
    dispatcher: SafetyAwareDispatcher, link: ScriptedLink, *, budget_s: float = 2 * LONG_S
) -> "asyncio.Future[bytes]":
    """Submit an E-stop while ``READ?`` is in flight; return the future of the latter."""
    reading = await dispatcher.submit("read", b"READ?", QUERY, timeout=budget_s)
    await until(lambda: link.sent)
    await (await dispatcher.submit("off", b"OFF", SAFETY))
    return reading


async def test_safety_breaks_off_the_transaction_in_flight_and_goes_out_within_its_bound() -> None:
    link = slow_link()
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        reading = await read_and_stop(dispatcher, link)
        with pytest.raises(Preempted, match=r"READ\?.* gave way"):
            await reading
        record = record_of(dispatcher, "off")
    assert outcomes(dispatcher) == [("read", "preempted"), ("off", "ok")]
    assert link.payloads == [b"READ?", b"OFF"]
    assert record.bound_s == INTERRUPT_S
    assert record.dispatch_latency_s is not None
    assert record.dispatch_latency_s <= record.bound_s + LOADED_S
    assert link.interrupted == 1


async def test_the_off_command_waits_for_the_link_to_be_free() -> None:
    link = slow_link(interrupt_s=0.1)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        await read_and_stop(dispatcher, link)
        latency_s = record_of(dispatcher, "off").dispatch_latency_s
    assert latency_s is not None
    assert 0.1 <= latency_s <= INTERRUPT_S + LOADED_S


async def test_off_is_written_first_and_the_link_is_resynchronised_before_the_next_reply() -> None:
    link = slow_link(resync_budget_s=0.05)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        await read_and_stop(dispatcher, link)
        assert link.resynchronised == 0
        assert await (await dispatcher.submit("b", b"B?", QUERY)) == b"b"
    assert link.payloads == [b"READ?", b"OFF", b"B?"]
    assert (link.resynchronised, link.reopened) == (1, 0)


async def test_two_steps_of_an_off_sequence_interrupt_once() -> None:
    link = slow_link(interrupt_s=0.05)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        await dispatcher.submit("read", b"READ?", QUERY, timeout=LONG_S)
        await until(lambda: link.sent)
        steps = [await dispatcher.submit(f"off {n}", b"OFF %d" % n, SAFETY) for n in (1, 2)]
        await asyncio.gather(*steps)
    assert link.payloads == [b"READ?", b"OFF 1", b"OFF 2"]
    assert link.interrupted == 1


async def test_a_safety_transaction_in_flight_is_not_broken_off() -> None:
    link = slow_link().on(b"OUTP?", b"0", after_s=0.1)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        confirming = await dispatcher.submit("confirm", b"OUTP?", SAFETY)
        await until(lambda: link.sent)
        await (await dispatcher.submit("off", b"OFF", SAFETY))
        assert await confirming == b"0"
    assert link.interrupted == 0


@pytest.mark.parametrize("priority", [CONTROL, QUERY])
async def test_nothing_but_safety_breaks_a_poll_off(priority: Priority) -> None:
    link = slow_link().on(b"POLL?", b"1", after_s=0.1)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        poll = await dispatcher.submit("poll", b"POLL?", POLL)
        await until(lambda: link.sent)
        await (await dispatcher.submit("b", b"B?", priority))
        assert await poll == b"1"
    assert link.interrupted == 0


async def test_what_ends_as_soon_by_itself_is_not_broken_off() -> None:
    link = slow_link()
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        reading = await read_and_stop(dispatcher, link, budget_s=INTERRUPT_S / 2)
        with pytest.raises(TransactionTimeout):
            await reading
    assert link.interrupted == 0


async def test_a_link_that_offers_nothing_is_waited_for() -> None:
    link = slow_link(interrupt_budget_s=None)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        reading = await read_and_stop(dispatcher, link, budget_s=0.1)
        with pytest.raises(TransactionTimeout):
            await reading
        assert 0.0 < record_of(dispatcher, "off").bound_s <= 0.1
    assert link.interrupted == 0


async def test_a_link_that_is_not_free_in_time_is_renewed_before_off_is_written() -> None:
    link = slow_link(interrupt_budget_s=0.05, interrupt_s=LONG_S)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        reading = await read_and_stop(dispatcher, link)
        with pytest.raises(Preempted):
            await reading
        latency_s = record_of(dispatcher, "off").dispatch_latency_s
    assert link.reopened == 1
    assert link.payloads == [b"READ?", b"OFF"]
    assert latency_s is not None
    assert latency_s <= 0.05 + LOADED_S


async def test_a_link_that_can_not_be_freed_is_renewed_before_off_is_written() -> None:
    class Refusing(ScriptedLink):
        async def interrupt(self, timeout_s: float) -> None:
            raise ConnectionRefusedError("no abort channel")

    link = Refusing(interrupt_budget_s=INTERRUPT_S).on(b"READ?", b"stale", after_s=LONG_S)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        with pytest.raises(Preempted):
            await (await read_and_stop(dispatcher, link))
    assert link.reopened == 1
    assert link.payloads == [b"READ?", b"OFF"]


async def test_a_message_cut_short_is_not_continued_by_the_off_command() -> None:
    link = ScriptedLink(interrupt_budget_s=INTERRUPT_S).on(b"LONG", None, write_s=LONG_S)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        writing = await dispatcher.submit("long", b"LONG", CONTROL, timeout=2 * LONG_S)
        await until(lambda: link.sent)
        await (await dispatcher.submit("off", b"OFF", SAFETY))
        with pytest.raises(Preempted):
            await writing
    assert link.reopened == 1


async def test_the_gap_after_the_message_that_was_broken_off_is_kept() -> None:
    link = slow_link()
    async with SafetyAwareDispatcher.on(link, inter_command_delay=0.2) as dispatcher:
        await read_and_stop(dispatcher, link)
        record = record_of(dispatcher, "off")
    read, off = link.sent
    assert off.at_s - read.at_s >= 0.2
    assert record.bound_s == pytest.approx(INTERRUPT_S + 0.2)


async def test_a_reply_that_comes_before_the_link_is_free_is_no_obstacle() -> None:
    """Whoever wins, OFF is written once, and after the interruption is over."""
    for after_s in (0.0, 0.0005, 0.001, 0.002):
        link = ScriptedLink(interrupt_budget_s=INTERRUPT_S, interrupt_s=0.02)
        link.on(b"READ?", b"fresh", after_s=after_s)
        async with SafetyAwareDispatcher.on(link) as dispatcher:
            reading = await dispatcher.submit("read", b"READ?", QUERY, timeout=LONG_S)
            await until(lambda link=link: link.sent)  # type: ignore[misc]
            await (await dispatcher.submit("off", b"OFF", SAFETY))
            assert link.payloads == [b"READ?", b"OFF"]
            if link.interrupted:
                assert link.sent[1].at_s - link.sent[0].at_s >= 0.02
            try:
                assert await reading == b"fresh"
            except Preempted:
                assert link.interrupted == 1


async def test_a_job_loses_the_transaction_in_flight_and_the_link() -> None:
    link = slow_link()
    seen: list[str] = []

    async def job(txn: Any) -> str:
        try:
            await txn(b"READ?", timeout=2 * LONG_S)
        except Preempted:
            seen.append("read")
        return "it went on as if nothing had happened"

    async with SafetyAwareDispatcher.on(link) as dispatcher:
        running = await on_the_wire(dispatcher, link, job, CONTROL)
        await (await dispatcher.submit("off", b"OFF", SAFETY))
        with pytest.raises(Preempted):
            await running
    assert seen == ["read"]
    assert link.payloads == [b"READ?", b"OFF"]


async def test_the_worst_case_on_a_link_that_offers_it_is_what_freeing_it_takes() -> None:
    link = slow_link()
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        assert dispatcher.worst_case_s() == 0.0
        await dispatcher.submit("read", b"READ?", QUERY, timeout=LONG_S)
        await until(lambda: link.sent)
        assert dispatcher.worst_case_s() == INTERRUPT_S
        assert dispatcher.worst_case_s(CONTROL) > LONG_S / 2
        await dispatcher.submit("off", b"OFF", SAFETY)  # or stopping would wait for READ?


async def test_a_dispatcher_that_is_cancelled_while_it_frees_its_link_leaves_nothing_running() -> (
    None
):
    before = asyncio.all_tasks()
    link = slow_link(interrupt_budget_s=LONG_S / 2, interrupt_s=LONG_S / 2)
    dispatcher = SafetyAwareDispatcher.on(link)
    await dispatcher.start()
    await dispatcher.submit("read", b"READ?", QUERY, timeout=2 * LONG_S)
    await until(lambda: link.sent)
    begun_s = time.monotonic()
    await dispatcher.submit("off", b"OFF", SAFETY)
    await until(lambda: link.interrupted)
    (worker,) = [t for t in asyncio.all_tasks() if t.get_name() == "safetyq instrument"]
    worker.cancel()
    await asyncio.wait({worker})
    await until(lambda: asyncio.all_tasks() == before)
    assert time.monotonic() - begun_s < LONG_S / 2
