"""What an E-stop on a `VisaLink` waits for."""

import time

import pytest
from visa_helpers import LOADED_S, Instrument, OpenLink, until

from pytest_safetyq import Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.links.visa import VisaLink

SAFETY, CONTROL, QUERY, POLL = Priority


async def estop_while_stuck(
    instrument: Instrument, link: VisaLink, *, budget_s: float
) -> tuple[float, float]:
    """Submit an E-stop while a read is stuck; return its latency and its bound, in seconds."""
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        instrument.stuck = True
        stuck = await dispatcher.submit("stuck", b"STUCK?", POLL, timeout=budget_s)
        await until(lambda: "STUCK?\n" in instrument.messages)
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        with pytest.raises(TransactionTimeout):
            await stuck
        instrument.stuck = False
        assert await estop == b""
        assert "OFF\n" in instrument.messages
        (record,) = [r for r in dispatcher.records if r.cmd_id == "estop"]
    assert record.outcome == "ok"
    assert record.dispatch_latency_s is not None
    return record.dispatch_latency_s, record.bound_s


async def test_an_estop_behind_a_stuck_read_goes_out_on_a_new_session_within_its_bound(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link(resync_budget_s=2.0)
    latency_s, bound_s = await estop_while_stuck(instrument, link, budget_s=0.3)
    assert bound_s >= 0.2, "it waits for the rest of the budget"
    assert latency_s <= bound_s + LOADED_S
    assert len(instrument.sessions) == 2


async def test_an_estop_behind_a_stuck_read_needs_no_answer_from_the_instrument(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link(resync_budget_s=1.0)
    instrument.answers.clear()
    latency_s, bound_s = await estop_while_stuck(instrument, link, budget_s=0.2)
    assert latency_s <= bound_s + LOADED_S, "OFF waited for the answer to an identity query"


async def test_an_estop_behind_a_call_that_is_left_behind_is_late_by_the_new_session(
    instrument: Instrument, open_link: OpenLink
) -> None:
    """The bound counts the budgets, and not that a link is lost: then the record shows it."""
    link = await open_link(resync_budget_s=1.0)

    def slow() -> None:
        time.sleep(0.5)

    instrument.open_hook = slow
    latency_s, bound_s = await estop_while_stuck(instrument, link, budget_s=0.2)
    assert bound_s < latency_s <= bound_s + 0.5 + LOADED_S


async def test_an_estop_on_a_dirty_link_is_written_at_once_with_nothing_before_it(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link()
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("silent", b"SILENT?", QUERY, timeout=0.05))
        await (await dispatcher.submit("estop", b"OFF", SAFETY))
        (record,) = [r for r in dispatcher.records if r.cmd_id == "estop"]
    assert instrument.messages == ["*IDN?\n", "SILENT?\n", "OFF\n"]
    assert record.bound_s == 0.0


async def test_an_estop_during_a_resynchronisation_breaks_it_off(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.answers[b"B?"] = (b"b\n", 0.0)
    instrument.answers[b"LATE?"] = (b"stale\n", 0.5)
    link = await open_link(resync_budget_s=4.0)
    async with SafetyAwareDispatcher.on(link) as dispatcher:
        with pytest.raises(TransactionTimeout):
            await (await dispatcher.submit("late", b"LATE?", QUERY, timeout=0.05))
        query = await dispatcher.submit("b", b"B?", QUERY)
        await until(lambda: instrument.messages.count("*IDN?\n") == 2)
        estop = await dispatcher.submit("estop", b"OFF", SAFETY)
        await estop
        assert not query.done()
        (record,) = [r for r in dispatcher.records if r.cmd_id == "estop"]
        assert record.dispatch_latency_s is not None
        assert record.dispatch_latency_s <= 0.3, "the late reply is due after 0.5 s"
        assert await query == b"b"
        assert await (await dispatcher.submit("c", b"B?", QUERY)) == b"b"
