"""An E-stop while a slow query is in flight, timed by the instrument's witness."""

import asyncio
import time
from typing import Any

import msgspec
import pytest
from visa_helpers import until
from wire_helpers import driven, executed

from pytest_safetyq import Preempted, Priority, TransactionTimeout
from pytest_safetyq.bench.profiles import shipped_profile
from pytest_safetyq.bench.supervisor.linking import link_of
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.links import InterruptibleLink
from pytest_safetyq.links.breaking import BREAK_S, RENEW_S
from sim_instruments.sim_bench import SimBench

SAFETY, CONTROL, QUERY, POLL = Priority

BUDGET_S = 2.0
LOADED_S = 0.5
OFFERED = [("vxi11", "abort"), ("hislip", "device_clear")]
WIRES = ["vxi11", "hislip", "socket", "prologix"]

LATE = {"kind": "delay", "seconds": 5.0}
"""The reply is under way and late: an abort finds nothing to break off in the instrument."""

NEVER = {"kind": "no_reply"}


@pytest.mark.sim_bench(wires=["vxi11", "hislip"])
@pytest.mark.parametrize("fault", [LATE, NEVER], ids=["delay", "no_reply"])
@pytest.mark.parametrize(("wire", "interrupt"), OFFERED)
async def test_off_is_executed_long_before_the_budget_of_the_query_in_flight_ends(
    sim_bench: SimBench, wire: str, interrupt: Any, fault: dict[str, Any]
) -> None:
    async with driven(sim_bench, wire, interrupt=interrupt) as smu:
        await (await smu.submit("on", b"OUTP ON", CONTROL))
        sim_bench.control.fault("smu", pattern="READ", count=1, **fault)
        reading = await smu.submit("read", b"READ?", QUERY, timeout=BUDGET_S)
        await executed(sim_bench, "READ?")
        begun_s = time.monotonic()
        await (await smu.submit("off", b"OUTP OFF", SAFETY))
        with pytest.raises(Preempted):
            await reading
        entry = await executed(sim_bench, "OUTP OFF")
        assert entry.output == {"1": False}
        assert entry.t - begun_s <= BREAK_S + RENEW_S + LOADED_S
        (record,) = [r for r in smu.records if r.cmd_id == "off"]
        assert record.bound_s == BREAK_S + RENEW_S
        sim_bench.control.lift("smu")
        assert await (await smu.submit("off?", b"OUTP?", SAFETY)) == b"0"
        assert [e.message for e in sim_bench.witness()].count("OUTP OFF") == 1


@pytest.mark.sim_bench(wires=["vxi11"])
async def test_an_aborted_vxi11_read_leaves_the_session_as_it_is(
    sim_bench: SimBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_safetyq.links.visa.BREAK_S", 5.0)  # on a busy machine too
    async with driven(sim_bench, "vxi11", interrupt="abort") as smu:
        sim_bench.control.fault("smu", "no_reply", pattern="READ")
        for number in range(3):
            await smu.submit(f"read {number}", b"READ?", QUERY, timeout=20.0)
            # One that might have been cut short would cost the session all the same.
            await until(
                lambda: smu.running_priority is QUERY and smu._worker.exchange.written_s is not None
            )
            await (await smu.submit(f"off {number}", b"OUTP OFF", SAFETY))
            assert await (await smu.submit("off?", b"OUTP?", SAFETY)) == b"0"
    assert len({entry.client for entry in sim_bench.witness()}) == 1


@pytest.mark.sim_bench(wires=WIRES)
@pytest.mark.parametrize(
    ("wire", "interrupt"),
    [
        ("vxi11", "none"),
        ("vxi11", "device_clear"),
        ("hislip", "none"),
        ("hislip", "abort"),
        ("socket", "abort"),
        ("prologix", "device_clear"),
    ],
)
async def test_where_it_is_not_asked_for_or_not_offered_off_waits_for_the_budget(
    sim_bench: SimBench, wire: str, interrupt: Any
) -> None:
    budget_s = 0.5
    async with driven(sim_bench, wire, interrupt=interrupt) as smu:
        sim_bench.control.fault("smu", "no_reply", pattern="READ", count=1)
        reading = await smu.submit("read", b"READ?", QUERY, timeout=budget_s)
        await executed(sim_bench, "READ?")
        await (await smu.submit("off", b"OUTP OFF", SAFETY))
        with pytest.raises(TransactionTimeout):
            await reading
        (read,) = [r for r in smu.records if r.cmd_id == "read"]
        assert read.dispatched_s is not None
        entry = await executed(sim_bench, "OUTP OFF")
        assert entry.t - read.dispatched_s >= budget_s - 0.05, "it went out too early to be true"


@pytest.mark.sim_bench(wires=["vxi11", "hislip"])
@pytest.mark.parametrize(("wire", "interrupt"), OFFERED)
async def test_many_interrupts_at_odd_moments_lose_no_off_command(
    sim_bench: SimBench, wire: str, interrupt: Any
) -> None:
    """Also when the abort comes before the read that it is meant for, or after the reply."""
    rounds = 30
    async with driven(sim_bench, wire, interrupt=interrupt) as smu:
        for number in range(rounds):
            reading = await smu.submit(f"read {number}", b"READ?", QUERY, timeout=BUDGET_S)
            await asyncio.sleep(number * 0.0001)
            await (await smu.submit(f"off {number}", b"OUTP OFF", SAFETY))
            await asyncio.wait({reading})
            assert await (await smu.submit("off?", b"OUTP?", SAFETY)) == b"0"
    assert [e.message for e in sim_bench.witness()].count("OUTP OFF") == rounds


@pytest.mark.sim_bench(wires=["vxi11"])
async def test_a_profile_says_whether_its_instrument_is_interrupted(sim_bench: SimBench) -> None:
    spec = InstrumentSpec(
        name="smu", resource=sim_bench.resource_name("smu", "vxi11"), library="@py"
    )
    plain = shipped_profile("generic-scpi")
    budgets = []
    for profile in (msgspec.structs.replace(plain, interrupt="abort"), plain):
        link = link_of(spec, profile, profile.identity)
        assert isinstance(link, InterruptibleLink)
        await link.open(5.0)
        budgets.append(link.interrupt_budget_s)
        await link.close()
    assert budgets == [BREAK_S + RENEW_S, None]
