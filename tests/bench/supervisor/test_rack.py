"""`Rack`: one owner for each instrument, one latch for all."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from rack_helpers import Openings, rack_of, spec_of
from supervisor_helpers import (
    in_background,
    now,
    profile_of,
    until,
)

import pytest_safetyq
from pytest_safetyq import EStopLatched, LinkLost, Priority, SafeStateUnconfirmed, SafetyError
from pytest_safetyq.bench.supervisor.rack import Rack
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority
ROOT = str(Path(pytest_safetyq.__file__).parents[1])


# Opening.


async def test_the_same_instrument_is_opened_once(openings: Openings) -> None:
    rack = Rack()
    first, second = await rack.open(spec_of("smu")), await rack.open(spec_of("smu"))
    assert first is second
    assert rack["smu"] is first
    assert openings.opened == ["smu"]
    await rack.close()


async def test_two_at_the_same_time_open_it_once(openings: Openings) -> None:
    openings.gate = asyncio.Event()
    rack = Rack()
    opening = [in_background(rack.open(spec_of("smu"))) for _ in range(3)]
    await asyncio.sleep(0.01)
    openings.gate.set()
    first, *others = await asyncio.gather(*opening)
    assert all(other is first for other in others)
    assert openings.opened == ["smu"]
    await rack.close()


@pytest.mark.parametrize("other", [{"resource": "other::INSTR"}, {"limits": {"voltage_v": 5.0}}])
async def test_another_one_of_the_same_name_is_refused(
    openings: Openings, other: dict[str, Any]
) -> None:
    rack = await rack_of("smu")
    with pytest.raises(SafetyError, match="smu is open already, as smu::INSTR"):
        await rack.open(spec_of("smu", **other))
    assert openings.opened == ["smu"]
    await rack.close()


async def test_what_is_not_open_is_lost() -> None:
    with pytest.raises(LinkLost, match="smu is not open"):
        _ = Rack()["smu"]


async def test_a_failed_opening_leaves_nothing_and_can_be_tried_again(openings: Openings) -> None:
    openings.errors["smu"] = LinkLost("nobody there")
    rack = Rack()
    for _ in range(2):
        with pytest.raises(LinkLost, match="nobody there"):
            await rack.open(spec_of("smu", simulated=False))
    with pytest.raises(LinkLost):
        _ = rack["smu"]
    openings.errors.clear()
    await rack.open(spec_of("smu", simulated=False))
    await rack.close()


# E-stop and rearm.


async def test_every_instrument_is_driven_to_its_safe_state_at_the_same_time(
    openings: Openings,
) -> None:
    openings.links = {
        name: ScriptedLink({b"OUTP?": b"0"}, latency_s=0.1) for name in ("a", "b", "c")
    }
    rack = await rack_of("a", "b", "c")
    report = await rack.enter_safe_state("smoke", now())
    off_s = [link.sent[0].at_s for link in openings.links.values()]
    asked_s = [link.sent[1].at_s for link in openings.links.values()]
    assert max(off_s) < min(asked_s) + 0.1, "all were sent before the first has answered"
    assert report.confirmed
    assert list(report.by_instrument) == ["a", "b", "c"]
    assert rack.tripped == "smoke"
    assert [rack[name].dispatcher.latched for name in "abc"] == [True] * 3
    assert [link.payloads for link in openings.links.values()] == [[b"OUTP OFF", b"OUTP?"]] * 3
    await rack.close()


async def test_one_that_is_unconfirmed_is_told_and_the_others_are_off(openings: Openings) -> None:
    openings.links["b"] = ScriptedLink({b"OUTP?": b"1"})
    openings.profiles["b"] = profile_of("OFF", attempts=1)
    rack = await rack_of("a", "b")
    report = await rack.enter_safe_state("smoke", now())
    assert not report.confirmed
    assert report.confirmed_latency_s is None
    assert {n: r.confirmed for n, r in report.by_instrument.items()} == {"a": True, "b": False}
    await rack.close()


async def test_an_instrument_whose_safe_state_fails_does_not_hide_the_others(
    openings: Openings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def defect(reason: str) -> int:
        raise RuntimeError("a defect")

    rack = await rack_of("a", "b")
    monkeypatch.setattr(rack["a"].dispatcher, "trip", defect)
    report = await rack.enter_safe_state("smoke", now())
    assert not report.confirmed
    assert not report.by_instrument["a"].confirmed
    assert report.by_instrument["b"].confirmed
    assert openings.links["b"].payloads == [b"OUTP OFF", b"OUTP?"]
    assert ["a defect" in str(r.exc_info) for r in caplog.records if r.levelname == "ERROR"] == [
        True
    ]
    await rack.close()


async def test_it_goes_on_though_whoever_asked_is_gone_and_closing_waits_for_it(
    openings: Openings,
) -> None:
    openings.links["smu"] = ScriptedLink({b"OUTP?": b"0"}, latency_s=0.05)
    rack = await rack_of("smu")
    asking = in_background(rack.enter_safe_state("smoke", now()))
    await until(lambda: openings.links["smu"].sent)
    asking.cancel()
    await asyncio.wait({asking})
    assert asking.cancelled()
    await rack.close()
    assert openings.links["smu"].payloads == [b"OUTP OFF", b"OUTP?"]


async def test_the_bench_is_tripped_the_moment_it_is_asked_for(openings: Openings) -> None:
    rack = await rack_of("smu")
    entering = rack.begin_safe_state("smoke", now())
    assert rack.tripped == "smoke"
    assert (await entering).confirmed
    await rack.close()


async def test_one_resource_has_one_name(openings: Openings) -> None:
    """Two dispatchers on one instrument would interleave their transactions."""
    rack = await rack_of("smu")
    with pytest.raises(SafetyError, match="smu::INSTR is open already, as smu"):
        await rack.open(spec_of("other", resource="smu::INSTR"))
    assert openings.opened == ["smu"]
    await rack.open(spec_of("other", resource="smu::INSTR", library="two.yaml@sim"))
    await rack.close()


async def test_an_empty_bench_is_safe() -> None:
    rack = Rack()
    report = await rack.enter_safe_state("smoke", now())
    assert report.confirmed
    assert report.by_instrument == {}
    rack.rearm("nothing is open")
    assert rack.tripped is None


async def test_a_confirmed_bench_is_rearmed_and_nothing_is_sent_by_it(openings: Openings) -> None:
    rack = await rack_of("a", "b")
    await rack.enter_safe_state("smoke", now())
    sent = [len(link.sent) for link in openings.links.values()]
    rack.rearm("the next test")
    assert rack.tripped is None
    assert [rack[name].dispatcher.latched for name in "ab"] == [False, False]
    assert [len(link.sent) for link in openings.links.values()] == sent
    await rack.close()


async def test_a_rearm_is_refused_for_all_while_one_is_unconfirmed(openings: Openings) -> None:
    openings.links["b"] = ScriptedLink({b"OUTP?": b"1"})
    openings.profiles["b"] = profile_of("OFF", attempts=1)
    rack = await rack_of("a", "b")
    await rack.enter_safe_state("smoke", now())
    with pytest.raises(SafeStateUnconfirmed, match=r"^b: off was not read back .*\(smoke\)"):
        rack.rearm("the next test")
    assert [rack[name].dispatcher.latched for name in "ab"] == [True, True]
    assert rack.tripped == "smoke"
    openings.links["b"].on(b"OUTP?", b"0")
    await rack.enter_safe_state("again", now())
    rack.rearm("by hand")
    assert [rack[name].dispatcher.latched for name in "ab"] == [False, False]
    await rack.close()


async def test_a_tripped_bench_latches_what_is_opened_later(openings: Openings) -> None:
    rack = await rack_of("a")
    await rack.enter_safe_state("smoke", now())
    late = await rack.open(spec_of("late"))
    with pytest.raises(EStopLatched, match="smoke"):
        late.submit("on", b"OUTP ON", CONTROL)
    with pytest.raises(SafeStateUnconfirmed, match="late"):
        rack.rearm("too early: it was never read back")
    assert (await rack.enter_safe_state("again", now())).confirmed
    rack.rearm("now")
    await late.submit("on", b"OUTP ON", CONTROL)
    await rack.close()


async def test_a_trip_during_an_opening_latches_what_is_opened(openings: Openings) -> None:
    openings.gate = asyncio.Event()
    rack = Rack()
    opening = in_background(rack.open(spec_of("smu")))
    await asyncio.sleep(0.01)
    await rack.enter_safe_state("smoke", now())
    openings.gate.set()
    with pytest.raises(EStopLatched, match="smoke"):
        (await opening).submit("on", b"OUTP ON", CONTROL)
    await rack.close()


async def test_the_records_of_all_are_those_of_the_test_in_the_order_of_submission(
    openings: Openings,
) -> None:
    rack = await rack_of("a", "b")
    await rack["a"].submit("before", b"X", CONTROL)
    rack.begin_test()
    for n, name in enumerate("abba"):
        await rack[name].submit(f"c{n}", b"X", CONTROL)
    assert [(r.instrument, r.cmd_id) for r in rack.records] == [
        ("a", "c0"),
        ("b", "c1"),
        ("b", "c2"),
        ("a", "c3"),
    ]
    await rack.close()


async def test_it_waits_for_every_safety_command_to_have_its_outcome(openings: Openings) -> None:
    openings.links["a"] = ScriptedLink({b"OFF?": b"0"}, latency_s=0.05)
    rack = await rack_of("a", "b")
    reply = rack["a"].submit("estop", b"OFF?", SAFETY)
    reply.cancel()
    await rack.safety_settled()
    await asyncio.sleep(0.1)
    pending = rack["a"].submit("estop", b"OFF?", SAFETY)
    await rack.safety_settled()
    assert pending.done()
    await rack.close()


async def test_a_safety_command_that_nobody_waits_for_is_settled_too(openings: Openings) -> None:
    """It is sent whoever has stopped waiting: its record belongs to the test."""
    openings.links["a"] = ScriptedLink({b"OFF?": b"0"}, latency_s=0.05)
    rack = await rack_of("a")
    rack["a"].submit("estop", b"OFF?", SAFETY).cancel()
    await rack.safety_settled()
    assert [r.cmd_id for r in rack.records] == ["estop"]
    await rack.close()


async def test_closing_closes_every_link_and_switches_nothing_off(openings: Openings) -> None:
    rack = await rack_of("a", "b")
    await rack.close()
    assert [link.closed for link in openings.links.values()] == [True, True]
    assert [link.payloads for link in openings.links.values()] == [[], []]
    with pytest.raises(LinkLost):
        _ = rack["a"]


async def test_a_bench_that_is_being_closed_stays_latched(openings: Openings) -> None:
    rack = await rack_of("smu")
    rack.ending = "the supervisor was told to end (SIGTERM)"
    assert (await rack.enter_safe_state("smoke", now())).confirmed
    with pytest.raises(SafetyError, match=r"not rearmed any more: .*SIGTERM"):
        rack.rearm("the next test")
    assert rack["smu"].dispatcher.latched
    await rack.close()
