"""`SafeState` where the first attempt is not enough, or nothing helps."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from safe_state_helpers import Stations, enter, latch_of
from supervisor_helpers import LOADED_S, in_background, now, off_link, profile_of, started, until

from pytest_safetyq import Priority, SafetyAwareDispatcher
from pytest_safetyq.bench.config import Step
from pytest_safetyq.links import ScriptedLink
from pytest_safetyq.scheduling import LatchState

SAFETY, CONTROL, QUERY, POLL = Priority


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
