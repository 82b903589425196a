"""One budget per transaction, on the wall clock, whatever the backend's own timeout does."""

import time
from typing import Any

import pytest
from wire_helpers import driven, executed

from pytest_safetyq import LinkLost, Priority, SafetyAwareDispatcher, TransactionTimeout
from sim_instruments.sim_bench import SimBench

SAFETY, CONTROL, QUERY, POLL = Priority

SESSION_WIRES = ["socket", "hislip", "vxi11"]
"""Where a new session is a new path. Behind a Prologix adapter all share the adapter's one."""

WIRES = [*SESSION_WIRES, "prologix"]
BUDGET_S = 0.3
LOADED_S = 1.0
"""Seconds that a new session and a message may take on a busy machine."""

OVER_S = 0.02
"""Seconds that a transaction may take above its budget: a call that overstays is left behind."""

TRIES = 5
"""A busy machine may wake us late, once or twice; a backend that is waited for is late always."""

FAULTS: dict[str, dict[str, Any]] = {
    "trickle": {"seconds": 0.03},  # some 70 bytes: 2 s
    "delay": {"seconds": 2.0},
    "no_reply": {},
    "frozen": {},
}


async def overrun_s(dispatcher: SafetyAwareDispatcher) -> float:
    """Return for how long ``READ?`` took more than its budget, in seconds."""
    reading = await dispatcher.submit("read", b"READ?", QUERY, timeout=BUDGET_S)
    with pytest.raises((TransactionTimeout, LinkLost)):
        await reading
    (record,) = [r for r in dispatcher.records if r.cmd_id == "read"]
    assert record.service_s is not None, "it was written, or at least begun"
    return record.service_s - BUDGET_S


@pytest.mark.sim_bench(wires=WIRES)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_transaction_ends_with_its_budget(
    sim_bench: SimBench, wire: str, fault: str
) -> None:
    overruns_s: list[float] = []
    while len(overruns_s) < TRIES and min(overruns_s, default=1.0) > OVER_S:
        async with driven(sim_bench, wire) as dispatcher:
            sim_bench.control.fault("smu", fault, pattern="READ", count=1, **FAULTS[fault])
            overruns_s.append(await overrun_s(dispatcher))
            await executed(sim_bench, "READ?", times=len(overruns_s))  # the fault has struck
            sim_bench.control.lift("smu")
    assert min(overruns_s) <= OVER_S, overruns_s


@pytest.mark.sim_bench(wires=SESSION_WIRES)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("wire", SESSION_WIRES)
async def test_after_a_transaction_that_was_left_behind_off_goes_out_and_is_read_back(
    sim_bench: SimBench, wire: str, fault: str
) -> None:
    async with driven(sim_bench, wire) as dispatcher:
        await (await dispatcher.submit("on", b"OUTP ON", CONTROL))
        sim_bench.control.fault("smu", fault, pattern="READ", count=1, **FAULTS[fault])
        await overrun_s(dispatcher)
        await executed(sim_bench, "READ?")  # the fault has struck
        sim_bench.control.lift("smu")
        begun_s = time.monotonic()
        await (await dispatcher.submit("off", b"OUTP OFF", SAFETY))
        assert (await executed(sim_bench, "OUTP OFF")).t - begun_s <= LOADED_S
        assert await (await dispatcher.submit("off?", b"OUTP?", SAFETY)) == b"0"
