"""A storm of E-stops is sent once."""

import asyncio
import logging

import pytest
from dispatcher_helpers import BLOCKED_S, SHORT_DRAIN_S, Owner, outcomes, record_of, turns, until

from pytest_safetyq import Priority, SafetyAwareDispatcher, SafetyError
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


async def estop(
    dispatcher: SafetyAwareDispatcher, cmd_id: str = "estop", payload: bytes = b"OFF"
) -> asyncio.Future[bytes]:
    return await dispatcher.submit(cmd_id, payload, SAFETY)


async def test_a_repeat_of_one_that_waits_is_not_sent(own: Owner) -> None:
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=BLOCKED_S)
    async with own(link) as dispatcher:
        await dispatcher.submit("block", b"BLOCK?", QUERY)
        await until(lambda: link.sent)
        futures = [await estop(dispatcher) for _ in range(5)]
        assert dispatcher.pending == 1
        assert await asyncio.gather(*futures) == [b""] * 5
    assert link.payloads == [b"BLOCK?", b"OFF"]
    assert dispatcher.coalesced == 4


async def test_a_repeat_of_one_in_flight_gets_the_same_reply(own: Owner) -> None:
    link = ScriptedLink({b"OFF?": b"0"}, latency_s=0.03)
    async with own(link) as dispatcher:
        first = await estop(dispatcher, payload=b"OFF?")
        await until(lambda: link.sent)
        repeat = await estop(dispatcher, payload=b"OFF?")
        assert dispatcher.pending == 0
        assert await first == await repeat == b"0"
        assert repeat is not first
    assert link.payloads == [b"OFF?"]
    assert outcomes(dispatcher) == [("estop", "ok"), ("estop", "coalesced")]


async def test_a_repeat_just_after_a_success_gets_its_reply_at_once(own: Owner) -> None:
    link = ScriptedLink({b"OFF?": b"0"})
    async with own(link, coalesce_s=30.0) as dispatcher:
        await (await estop(dispatcher, payload=b"OFF?"))
        repeat = await estop(dispatcher, payload=b"OFF?")
        assert repeat.done()
        assert repeat.result() == b"0"
    assert link.payloads == [b"OFF?"]
    assert [r.outcome for r in dispatcher.records] == ["ok", "coalesced"]
    assert dispatcher.records[1].dispatched_s is None


async def test_a_repeat_after_the_window_is_sent(own: Owner) -> None:
    link = ScriptedLink()
    async with own(link, coalesce_s=0.01) as dispatcher:
        await (await estop(dispatcher))
        await asyncio.sleep(0.02)
        await (await estop(dispatcher))
    assert link.payloads == [b"OFF", b"OFF"]
    assert dispatcher.coalesced == 0


@pytest.mark.parametrize(("cmd_id", "payload"), [("other", b"OFF"), ("estop", b"OFF2")])
async def test_another_name_or_payload_is_sent(own: Owner, cmd_id: str, payload: bytes) -> None:
    link = ScriptedLink()
    async with own(link, coalesce_s=30.0) as dispatcher:
        futures = [await estop(dispatcher), await estop(dispatcher, cmd_id, payload)]
        await asyncio.gather(*futures)
        await (await estop(dispatcher, "third", b"OFF"))
    assert link.payloads == [b"OFF", payload, b"OFF"]


@pytest.mark.parametrize("priority", [CONTROL, QUERY, POLL])
async def test_nothing_but_safety_coalesces(own: Owner, priority: Priority) -> None:
    link = ScriptedLink()
    async with own(link, coalesce_s=30.0) as dispatcher:
        futures = [await dispatcher.submit("same", b"X", priority) for _ in range(3)]
        await asyncio.gather(*futures)
    assert link.payloads == [b"X"] * 3


async def test_a_repeat_is_sent_when_something_else_was_sent_since(own: Owner) -> None:
    link = ScriptedLink()
    async with own(link, coalesce_s=30.0) as dispatcher:
        await (await estop(dispatcher))
        await (await dispatcher.submit("on", b"ON", CONTROL))
        await (await estop(dispatcher))
    assert link.payloads == [b"OFF", b"ON", b"OFF"]


async def test_a_repeat_is_sent_when_a_job_has_sent_something_since(own: Owner) -> None:
    link = ScriptedLink()
    async with own(link, coalesce_s=30.0) as dispatcher:
        await (await estop(dispatcher))
        await dispatcher.run_job(lambda txn: txn(b"ON"), CONTROL)
        await (await estop(dispatcher))
    assert link.payloads == [b"OFF", b"ON", b"OFF"]


async def test_a_repeat_is_sent_when_something_else_that_failed_was_sent_since(
    own: Owner,
) -> None:
    link = ScriptedLink().on(b"ON?", OSError("no"))
    async with own(link, coalesce_s=30.0) as dispatcher:
        await (await estop(dispatcher))
        with pytest.raises(OSError, match="no"):
            await (await dispatcher.submit("on", b"ON?", CONTROL))
        await (await estop(dispatcher))
    assert link.payloads == [b"OFF", b"ON?", b"OFF"]


@pytest.mark.usefixtures("short_drain")
async def test_a_failed_estop_covers_no_repeat(own: Owner) -> None:
    link = ScriptedLink({b"OFF?": b"0"}, resync_budget_s=SHORT_DRAIN_S).on(b"OFF?", OSError("no"))
    async with own(link, coalesce_s=30.0) as dispatcher:
        with pytest.raises(OSError, match="no"):
            await (await estop(dispatcher, payload=b"OFF?"))
        assert await (await estop(dispatcher, payload=b"OFF?")) == b"0"
    assert link.payloads == [b"OFF?", b"OFF?"]


async def test_repeats_share_a_failure(own: Owner) -> None:
    link = ScriptedLink().on(b"OFF?", OSError("no"), after_s=0.02)
    async with own(link) as dispatcher:
        futures = [await estop(dispatcher, payload=b"OFF?") for _ in range(3)]
        results = await asyncio.gather(*futures, return_exceptions=True)
    assert [type(result) for result in results] == [OSError] * 3
    assert link.payloads == [b"OFF?"]


async def test_a_repeat_gets_its_outcome_though_the_first_submitter_gave_up(own: Owner) -> None:
    link = ScriptedLink({b"OFF?": b"0"}, latency_s=0.02)
    async with own(link) as dispatcher:
        first = await estop(dispatcher, payload=b"OFF?")
        repeat = await estop(dispatcher, payload=b"OFF?")
        first.cancel()
        assert await repeat == b"0"
    assert link.payloads == [b"OFF?"]


async def test_a_submitter_of_a_repeat_can_give_up_alone(own: Owner) -> None:
    link = ScriptedLink({b"OFF?": b"0"}, latency_s=0.02)
    async with own(link) as dispatcher:
        first = await estop(dispatcher, payload=b"OFF?")
        (await estop(dispatcher, payload=b"OFF?")).cancel()
        assert await first == b"0"
    assert link.payloads == [b"OFF?"]


@pytest.mark.parametrize("cancelled_when", ["waiting", "in flight"])
async def test_a_repeat_is_accepted_after_an_estop_whose_submitter_gave_up(
    own: Owner, cancelled_when: str
) -> None:
    link = ScriptedLink({b"OFF?": b"0"}, latency_s=0.02)
    async with own(link, coalesce_s=30.0) as dispatcher:
        first = await estop(dispatcher, payload=b"OFF?")
        if cancelled_when == "in flight":
            await until(lambda: link.sent)
        first.cancel()
        await until(lambda: dispatcher.records)
        repeat = await estop(dispatcher, payload=b"OFF?")
        assert await repeat == b"0"


async def test_a_storm_is_logged_once_with_its_count(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pytest_safetyq.dispatcher")
    link = ScriptedLink({b"BLOCK?": b"1"}, latency_s=BLOCKED_S)
    async with own(link, name="smu") as dispatcher:
        await dispatcher.submit("block", b"BLOCK?", QUERY)
        await until(lambda: link.sent)
        await asyncio.gather(*[await estop(dispatcher) for _ in range(8)])
        await asyncio.sleep(0.1)
    (logged,) = caplog.records
    assert logged.levelname == "WARNING"
    assert logged.name == "pytest_safetyq.dispatcher"
    assert "7 times" in logged.message
    assert "'estop'" in logged.message
    assert "smu" in logged.message


def storm_lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [r.message for r in caplog.records if r.levelno == level and "repeated" in r.message]


async def test_a_storm_that_goes_on_after_the_success_is_warned_of_once_and_counted_whole(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pytest_safetyq.dispatcher")
    link = ScriptedLink({b"OFF?": b"0"}, latency_s=0.02)
    async with own(link, coalesce_s=0.1) as dispatcher:
        early = [await estop(dispatcher, payload=b"OFF?") for _ in range(4)]
        await asyncio.gather(*early)
        late = [await estop(dispatcher, payload=b"OFF?") for _ in range(2)]
        await asyncio.gather(*late)
        assert storm_lines(caplog, logging.INFO) == [], "said when the window is over"
        await until(lambda: storm_lines(caplog, logging.INFO))
        await asyncio.sleep(0.15)
    assert link.payloads == [b"OFF?"]
    assert dispatcher.coalesced == 5
    (warning,) = storm_lines(caplog, logging.WARNING)
    (rest,) = storm_lines(caplog, logging.INFO)
    assert "3 times" in warning
    assert "2 times" in rest


async def test_a_storm_that_begins_after_the_success_is_warned_of_once_when_the_window_is_over(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pytest_safetyq.dispatcher")
    async with own(ScriptedLink(), coalesce_s=0.1) as dispatcher:
        await (await estop(dispatcher))
        for _ in range(3):
            await (await estop(dispatcher))
        assert storm_lines(caplog, logging.WARNING) == []
        await until(lambda: storm_lines(caplog, logging.WARNING))
        await asyncio.sleep(0.15)
    assert ["3 times" in line for line in storm_lines(caplog, logging.WARNING)] == [True]
    assert storm_lines(caplog, logging.INFO) == []


async def test_the_rest_of_a_storm_is_no_second_warning_although_another_came_between(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pytest_safetyq.dispatcher")
    link = ScriptedLink({b"A?": b"0", b"B?": b"0"}, latency_s=0.01)
    async with own(link, coalesce_s=0.2) as dispatcher:
        await asyncio.gather(*[await estop(dispatcher, "a", b"A?") for _ in range(3)])
        await (await estop(dispatcher, "a", b"A?"))
        await asyncio.gather(*[await estop(dispatcher, "b", b"B?") for _ in range(3)])
        await asyncio.sleep(0.3)
    assert link.payloads == [b"A?", b"B?"]
    assert dispatcher.coalesced == 5
    warnings = storm_lines(caplog, logging.WARNING)
    assert [("'a'" in line, "'b'" in line) for line in warnings] == [(True, False), (False, True)]


async def test_one_estop_is_not_logged_as_a_storm(
    own: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pytest_safetyq.dispatcher")
    async with own(ScriptedLink()) as dispatcher:
        await (await estop(dispatcher))
        await turns()
    assert caplog.records == []


async def test_an_estop_repeated_after_the_stop_is_refused_not_covered(own: Owner) -> None:
    async with own(ScriptedLink(), coalesce_s=30.0) as dispatcher:
        await (await estop(dispatcher))
    with pytest.raises(SafetyError):
        await estop(dispatcher)
    assert record_of(dispatcher, "estop").outcome == "ok"
