"""`SafeState`: the off sequence, the readback, the retries, and what is reported of them."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from supervisor_helpers import LOADED_S, in_background, now, off_link, profile_of, started, until

from pytest_safetyq import EStopLatched, Priority, SafetyAwareDispatcher, TransactionRecord
from pytest_safetyq.bench.config import Confirm, Profile, Step
from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.safe_state import SafeState
from pytest_safetyq.links import ScriptedLink
from pytest_safetyq.scheduling import LatchState

SAFETY, CONTROL, QUERY, POLL = Priority


class Stations(ScriptedLink):
    """A scripted link that writes down in ``stations`` what it is told, in order."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.stations: list[str] = []

    async def write(self, payload: bytes, /) -> None:
        self.stations.append(payload.decode())
        await super().write(payload)

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        self.stations.append("reopen" if lost else "resync")
        await super().resynchronise(owed=owed, lost=lost, discard=discard)


async def enter(instrument: OwnedInstrument, reason: str = "test") -> EStopReport:
    return await SafeState(instrument).enter(reason, now())


def latch_of(instrument: OwnedInstrument) -> LatchState:
    return instrument.dispatcher.latch.state


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


# Retries.


async def test_a_wrong_answer_is_tried_again_dirty_and_at_last_reopened() -> None:
    link = Stations({b"OUTP?": b"1"}, resync_budget_s=0.05)
    smu = await started(link, profile_of("OFF", attempts=3))
    report = await enter(smu)
    assert not report.confirmed
    assert report.attempts == 3
    assert report.confirmed_latency_s is None
    assert link.stations == ["OFF", "OUTP?", "OFF", "resync", "OUTP?", "reopen", "OFF", "OUTP?"]
    assert [(s.attempt, s.command, s.reply) for s in report.steps] == [
        (n, command, reply) for n in (1, 2, 3) for command, reply in (("OFF", None), ("OUTP?", "1"))
    ]
    assert "UNCONFIRMED after 3 attempts (OUTP? answered '1')" in str(report)
    await smu.close()


@pytest.mark.parametrize("good", [2, 3])
async def test_it_stops_trying_when_off_is_confirmed(good: int) -> None:
    link = ScriptedLink({b"OUTP?": b"0"}).on(b"OUTP?", *[b"1"] * (good - 1))
    smu = await started(link, profile_of("OFF", attempts=5))
    report = await enter(smu)
    assert report.confirmed
    assert report.attempts == good
    assert link.payloads == [b"OFF", b"OUTP?"] * good
    assert latch_of(smu) is LatchState.SAFE
    await smu.close()


@pytest.mark.parametrize("attempts", [1, 2, 4])
async def test_it_is_unconfirmed_after_as_many_attempts_as_the_profile_says(attempts: int) -> None:
    link = Stations({b"OUTP?": b"1"}, resync_budget_s=0.02)
    smu = await started(link, profile_of("OFF", attempts=attempts))
    report = await enter(smu)
    assert (report.confirmed, report.attempts) == (False, attempts)
    assert link.stations.count("OFF") == attempts
    assert link.stations.count("reopen") == (attempts > 1)
    await smu.close()


@pytest.mark.parametrize("answer", [b"", b"\r\n", b"1", b"0,1", b"nan", b"ON", b"0 1"])
async def test_an_answer_that_is_not_accepted_confirms_nothing(answer: bytes) -> None:
    smu = await started(ScriptedLink({b"OUTP?": answer}), profile_of("OFF", attempts=1))
    assert not (await enter(smu)).confirmed
    await smu.close()


@pytest.mark.parametrize("answer", [b"0", b" 0 ", b"+0.0", b"off", b"0,0", b"0\r\n"])
async def test_an_answer_that_is_accepted_confirms(answer: bytes) -> None:
    smu = await started(ScriptedLink({b"OUTP?": answer}), profile_of("OFF", attempts=1))
    assert (await enter(smu)).confirmed
    await smu.close()


async def test_an_instrument_that_says_nothing_is_unconfirmed_in_bounded_time() -> None:
    link = ScriptedLink(resync_budget_s=0.03)
    smu = await started(link, profile_of("OFF", attempts=3), timeout_s=0.05)
    begun_s = now()
    report = await enter(smu)
    assert now() - begun_s < 3 * (0.05 + 0.05) + 4 * LOADED_S
    assert not report.confirmed
    assert link.payloads == [b"OFF", b"OUTP?"] * 3
    assert [s.error is None for s in report.steps] == [True, False] * 3
    assert "no reply to " in (report.steps[-1].error or "")
    await smu.close()


async def test_a_reply_that_came_too_late_confirms_nothing_by_itself() -> None:
    """The "0" of the first attempt must not be taken for the answer of the second."""
    link = ScriptedLink({b"OUTP?": b"1"}).on(b"OUTP?", b"0", after_s=0.15)
    smu = await started(link, profile_of("OFF", attempts=2), timeout_s=0.05)
    assert not (await enter(smu)).confirmed
    await smu.close()


async def test_a_write_that_hangs_does_not_keep_the_next_attempt_from_the_instrument() -> None:
    link = ScriptedLink({b"OUTP?": b"0"}).on(b"OFF", None, write_s=60.0)
    smu = await started(link, profile_of("OFF", attempts=3), timeout_s=0.05)
    report = await enter(smu)
    assert report.confirmed
    assert "was not written" in (report.steps[0].error or "")
    assert link.reopened >= 1
    await smu.close()


async def test_a_step_that_fails_does_not_keep_the_others_from_being_sent() -> None:
    link = off_link()
    link.on(b"OFF1", ValueError("strange"))
    link.resync_budget_s = 0.05
    smu = await started(link, profile_of(Step(send="OFF1", reply=True), "OFF2"))
    report = await enter(smu)
    assert [(s.command, s.error) for s in report.steps] == [
        ("OFF1", "strange"),
        ("OFF2", None),
        ("OUTP?", None),
    ]
    assert report.confirmed
    await smu.close()


async def test_a_command_that_can_not_be_encoded_is_reported_and_the_rest_is_sent() -> None:
    link = off_link()
    smu = await started(link, profile_of("OUTP \N{EURO SIGN}", "OFF", attempts=1))
    report = await enter(smu)
    assert link.payloads == [b"OFF", b"OUTP?"]
    assert report.steps[0].error is not None
    await smu.close()


# A dispatcher that has ended.


async def stopped(dispatcher: SafetyAwareDispatcher) -> None:
    await dispatcher.stop()


async def killed(dispatcher: SafetyAwareDispatcher) -> None:
    (worker,) = [t for t in asyncio.all_tasks() if t.get_name() == f"safetyq {dispatcher.name}"]
    worker.cancel()
    await asyncio.wait({worker})


@pytest.mark.parametrize("end", [stopped, killed])
async def test_a_dispatcher_that_has_ended_is_reported_as_unconfirmed(
    end: Callable[[SafetyAwareDispatcher], Any],
) -> None:
    link = off_link()
    smu = await started(link, profile_of("OFF", attempts=2))
    await end(smu.dispatcher)
    async with asyncio.timeout(5.0):
        report = await enter(smu)
    assert not report.confirmed
    assert link.payloads == []
    assert report.dispatch_latency_s is None
    assert all("smu: the dispatcher was" in (step.error or "") for step in report.steps)
    assert len(report.steps) == 4


async def test_a_dispatcher_that_ends_in_the_middle_leaves_a_report() -> None:
    link = ScriptedLink(latency_s=60.0)
    smu = await started(link, profile_of("OFF?", attempts=1))
    entering = in_background(enter(smu))
    await until(lambda: link.sent)
    await killed(smu.dispatcher)
    async with asyncio.timeout(5.0):
        report = await entering
    assert not report.confirmed
    assert "not sent: the dispatcher has ended" in (report.steps[0].error or "")


async def test_the_limits_of_the_tests_do_not_stop_an_off_step() -> None:
    from pytest_safetyq.bench.limits import Limits

    limits = Limits.from_config({"voltage_v": (1.0, 2.0)}, {"voltage_v": ("VOLTage",)})
    link = off_link()
    smu = await started(link, profile_of("VOLT 0", "OFF"), limits=limits)
    assert (await enter(smu)).confirmed
    assert link.payloads == [b"VOLT 0", b"OFF", b"OUTP?"]
    await smu.close()
