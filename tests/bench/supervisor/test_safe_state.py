"""`SafeState`: the off sequence, the readback, the latch, and what is reported of them."""

import asyncio
import itertools

import pytest
from safe_state_helpers import enter, latch_of
from supervisor_helpers import LOADED_S, in_background, now, off_link, profile_of, started, until

from pytest_safetyq import EStopLatched, Priority, TransactionRecord
from pytest_safetyq.bench.config import Confirm, Profile, Step
from pytest_safetyq.bench.supervisor.safe_state import SafeState
from pytest_safetyq.links import ScriptedLink
from pytest_safetyq.scheduling import LatchState

SAFETY, CONTROL, QUERY, POLL = Priority


# The way that goes well.


async def test_the_steps_are_sent_in_order_and_then_off_is_read_back() -> None:
    link = off_link()
    smu = await started(link, profile_of("SYST:LOC", "OUTP1 OFF", "OUTP2 OFF"))
    report = await enter(smu, "smoke")
    assert link.payloads == [b"SYST:LOC", b"OUTP1 OFF", b"OUTP2 OFF", b"OUTP?"]
    assert report.confirmed
    assert (report.instrument, report.reason, report.attempts) == ("smu", "smoke", 1)
    assert [(s.command, s.reply, s.error, s.attempt) for s in report.steps] == [
        ("SYST:LOC", None, None, 1),
        ("OUTP1 OFF", None, None, 1),
        ("OUTP2 OFF", None, None, 1),
        ("OUTP?", "0", None, 1),
    ]
    assert all(r.priority is SAFETY for r in smu.dispatcher.records)
    await smu.close()


async def test_all_steps_go_before_whatever_else_waits_or_is_submitted_meanwhile() -> None:
    link = off_link()
    link.on(b"BLOCK?", b"1", after_s=0.05)
    smu = await started(link, profile_of("OFF1", "OFF2", "OFF3"))
    smu.submit("block", b"BLOCK?", QUERY)
    await until(lambda: link.sent)
    waiting = [smu.submit(p.name, b"WAITS", p) for p in (POLL, QUERY, CONTROL)]
    entering = in_background(enter(smu))
    await until(lambda: smu.dispatcher.pending_by_priority[SAFETY] == 3)
    assert [type(reply.exception()) for reply in waiting] == [EStopLatched] * 3
    other = smu.submit("another estop", b"LAST", SAFETY)
    assert (await entering).confirmed
    await other
    assert link.payloads[:5] == [b"BLOCK?", b"OFF1", b"OFF2", b"OFF3", b"LAST"]
    await smu.close()


async def test_the_report_has_latency_and_bound_of_the_first_step() -> None:
    link = off_link()
    link.on(b"BLOCK?", b"1", after_s=0.05)
    smu = await started(link, timeout_s=0.7)
    smu.submit("block", b"BLOCK?", QUERY)
    await until(lambda: link.sent)
    submitted_s = now()
    report = await SafeState(smu).enter("smoke", submitted_s)
    assert report.dispatch_latency_s is not None
    assert report.confirmed_latency_s is not None
    assert report.dispatch_latency_s == pytest.approx(link.sent[1].at_s - submitted_s, abs=LOADED_S)
    assert 0.02 < report.dispatch_latency_s <= report.bound_s <= 0.7
    assert report.dispatch_latency_s < report.confirmed_latency_s <= now() - submitted_s
    assert (report.steps[0].dispatch_latency_s, report.steps[0].bound_s) == (
        report.dispatch_latency_s,
        report.bound_s,
    )
    await smu.close()


async def test_the_latency_is_counted_from_where_the_estop_set_out() -> None:
    smu = await started(off_link())
    report = await SafeState(smu).enter("smoke", now() - 3.0)
    assert report.dispatch_latency_s is not None
    assert report.confirmed_latency_s is not None
    assert 3.0 <= report.dispatch_latency_s <= report.confirmed_latency_s < 3.0 + 2 * LOADED_S
    await smu.close()


async def test_the_latency_of_the_other_steps_is_counted_from_their_own_submission() -> None:
    smu = await started(off_link(), profile_of("OFF1", "OFF2"))
    report = await SafeState(smu).enter("smoke", now() - 3.0)
    latencies_s = [step.dispatch_latency_s for step in report.steps]
    assert None not in latencies_s
    assert [(s or 0.0) >= 3.0 for s in latencies_s] == [True, False, False]
    assert all(
        step.dispatch_latency_s == r.dispatch_latency_s
        for step, r in zip(report.steps, smu.dispatcher.records, strict=True)
    )
    await smu.close()


async def test_what_a_step_answers_is_read_and_reported() -> None:
    link = off_link()
    link.on(b"OUT 0", b"OK\r\n").on(b"OFF?", b"done")
    smu = await started(link, profile_of(Step(send="OUT 0", reply=True), "OFF?", "MUTE"))
    report = await enter(smu)
    assert report.confirmed
    assert [step.reply for step in report.steps] == ["OK", "done", None, "0"]
    assert not link.unread
    await smu.close()


async def test_the_confirm_query_is_read_though_it_has_no_question_mark() -> None:
    profile = Profile(off=(Step(send="OFF"),), confirm=Confirm(query="STAT", accept=("0",)))
    link = ScriptedLink({b"STAT": b"0"})
    smu = await started(link, profile)
    assert (await enter(smu)).confirmed
    assert not link.unread
    await smu.close()


@pytest.mark.parametrize(("second", "confirmed"), [(b"0.0", True), (b"1", False), (b"", False)])
async def test_every_confirm_query_is_a_step_and_all_must_accept(
    second: bytes, confirmed: bool
) -> None:
    confirms = tuple(Confirm(query=f"OUT{n}?", accept=("0",)) for n in (1, 2, 3))
    profile = Profile(off=(Step(send="OFF"),), confirm=confirms, attempts=1)
    link = ScriptedLink({b"OUT1?": b"0", b"OUT2?": second, b"OUT3?": b"0"})
    smu = await started(link, profile)
    report = await enter(smu)
    assert report.confirmed is confirmed
    assert link.payloads == [b"OFF", b"OUT1?", b"OUT2?", b"OUT3?"]
    assert [step.command for step in report.steps] == ["OFF", "OUT1?", "OUT2?", "OUT3?"]
    assert all(record.priority is SAFETY for record in smu.dispatcher.records)
    assert latch_of(smu) is (LatchState.SAFE if confirmed else LatchState.TRIPPED)
    await smu.close()


async def test_it_settles_between_the_last_step_and_the_readback() -> None:
    link = off_link()
    smu = await started(link, profile_of("OFF1", "OFF2", settle_s=0.06))
    assert (await enter(smu)).confirmed
    first, second, confirm = [message.at_s for message in link.sent]
    assert confirm - second >= 0.059
    assert second - first < 0.06 + LOADED_S
    await smu.close()


async def test_the_gap_is_kept_between_the_steps() -> None:
    link = off_link()
    smu = await started(link, profile_of("OFF1", "OFF2", gap_s=0.03))
    assert (await enter(smu)).confirmed
    at_s = [message.at_s for message in link.sent]
    assert all(after - before >= 0.029 for before, after in itertools.pairwise(at_s))
    await smu.close()


async def test_where_there_is_nothing_to_switch_off_nothing_is_sent() -> None:
    link = ScriptedLink()
    dmm = await started(link, profile_of(), name="dmm")
    report = await enter(dmm)
    assert report.confirmed
    assert (report.steps, report.attempts, report.dispatch_latency_s) == ((), 0, None)
    assert (report.bound_s, report.confirmed_latency_s) == (0.0, None)
    assert link.payloads == []
    assert latch_of(dmm) is LatchState.SAFE
    await dmm.close()


# The latch.


async def test_latching_flushes_first_and_a_confirmed_off_may_be_rearmed() -> None:
    link = off_link()
    link.on(b"BLOCK?", b"1", after_s=0.03)
    smu = await started(link)
    smu.submit("block", b"BLOCK?", QUERY)
    await until(lambda: link.sent)
    waiting = smu.submit("on", b"OUTP ON", CONTROL)
    assert (await enter(smu, "smoke")).confirmed
    with pytest.raises(EStopLatched, match="smoke"):
        await waiting
    with pytest.raises(EStopLatched, match="smoke"):
        smu.submit("on", b"OUTP ON", CONTROL)
    assert latch_of(smu) is LatchState.SAFE
    assert link.payloads == [b"BLOCK?", b"OUTP OFF", b"OUTP?"]
    await smu.close()


async def test_nothing_but_safety_is_taken_from_the_beginning_to_the_readback() -> None:
    link = ScriptedLink({b"OUTP?": b"0"}, latency_s=0.02)
    smu = await started(link)
    refused: list[str] = []

    def strike(record: TransactionRecord) -> None:
        if record.outcome == "ok":
            with pytest.raises(EStopLatched, match="end of the test"):
                smu.dispatcher.enqueue("on", b"OUTP ON", CONTROL)
            refused.append(record.cmd_id)

    smu.dispatcher.subscribe(strike)
    assert (await enter(smu, "end of the test")).confirmed
    assert len(refused) == 2
    assert link.payloads == [b"OUTP OFF", b"OUTP?"]
    await smu.close()


async def test_an_unconfirmed_off_may_not_be_rearmed() -> None:
    smu = await started(ScriptedLink({b"OUTP?": b"1"}), profile_of("OFF", attempts=1))
    assert not (await enter(smu)).confirmed
    assert latch_of(smu) is LatchState.TRIPPED
    await smu.close()


async def test_a_confirmation_after_a_trip_by_hand_makes_it_safe() -> None:
    smu = await started(off_link())
    await smu.dispatcher.trip("by hand")
    assert latch_of(smu) is LatchState.TRIPPED
    assert (await enter(smu)).confirmed
    assert latch_of(smu) is LatchState.SAFE
    await smu.close()


# Two at the same time.


async def test_two_requests_at_the_same_time_are_one() -> None:
    link = ScriptedLink({b"OUTP?": b"0"}, latency_s=0.03)
    smu = await started(link)
    state = SafeState(smu)
    reports = await asyncio.gather(*[state.enter(f"reason {n}", now()) for n in range(4)])
    assert link.payloads == [b"OUTP OFF", b"OUTP?"]
    assert all(report is reports[0] for report in reports)
    assert state.last is reports[0]
    await smu.close()


async def test_one_after_the_other_are_two() -> None:
    link = off_link()
    smu = await started(link)
    state = SafeState(smu)
    first = await state.enter("first", now())
    second = await state.enter("second", now())
    assert link.payloads == [b"OUTP OFF", b"OUTP?"] * 2
    assert (first.reason, second.reason) == ("first", "second")
    assert state.last is second
    await smu.close()


async def test_an_estop_while_a_safe_state_is_running_joins_it_and_names_its_own_reason() -> None:
    link = ScriptedLink({b"OUTP?": b"0"}, latency_s=0.05)
    smu = await started(link)
    state = SafeState(smu)
    scope_end = in_background(state.enter("end of the test", now()))
    await until(lambda: link.payloads == [b"OUTP OFF", b"OUTP?"])
    with pytest.raises(EStopLatched, match="end of the test"):
        smu.submit("on", b"OUTP ON", CONTROL)
    estop = in_background(state.enter("smoke", now()))
    await until(lambda: smu.dispatcher.latch.reason == "smoke")
    with pytest.raises(EStopLatched, match="smoke"):
        smu.submit("on", b"OUTP ON", CONTROL)
    first, second = await asyncio.gather(scope_end, estop)
    assert first is second
    assert first.confirmed
    assert latch_of(smu) is LatchState.SAFE
    assert link.payloads == [b"OUTP OFF", b"OUTP?"]
    await smu.close()


async def test_it_goes_on_though_whoever_asked_is_gone() -> None:
    link = ScriptedLink({b"OUTP?": b"0"}, latency_s=0.05)
    smu = await started(link)
    state = SafeState(smu)
    asking = in_background(state.enter("smoke", now()))
    await until(lambda: link.sent)
    asking.cancel()
    await asyncio.wait({asking})
    assert asking.cancelled()
    await until(lambda: state.last)
    assert state.last is not None
    assert state.last.confirmed
    assert latch_of(smu) is LatchState.SAFE
    await smu.close()
