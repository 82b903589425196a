"""An E-stop while a read is blocked, wire by wire: when OFF was executed, by the witness.

The budget of the read is what the E-stop waits for, unless the wire has a way to break it off.
"""

import asyncio
import contextlib
import sys
import threading
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import pyvisa

from benchmarks.figures import Figure
from pytest_safetyq import Priority, SafetyAwareDispatcher
from pytest_safetyq.bench.profiles import shipped_profile
from pytest_safetyq.bench.supervisor.linking import link_of
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.dispatcher.exchange import CANCEL_GRACE_S
from pytest_safetyq.links import InstrumentLink
from pytest_safetyq.links.breaking import Interrupt
from pytest_safetyq.links.visa import VisaLink
from pytest_safetyq.links.visa_session import VisaAddress
from sim_instruments.sim_bench import SimBench

SAMPLES = 5
BUDGET_S = 1.0
BLOCKED_S = 0.05
"""Seconds from the query to the E-stop: by then the read is blocked."""

LEFT_BEHIND_S = EXECUTED_S = 10.0


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table.

    Attributes:
        wire: The wire.
        interrupt: What the profile allows.
        native: Whether the link is ours, and not PyVISA-py's.
        fault: What becomes of the reply that is waited for.
    """

    wire: str
    interrupt: Interrupt = "none"
    native: bool = False
    fault: str = "no_reply"

    @property
    def name(self) -> str:
        """What is said of it in the table."""
        backend = "native" if self.native else "PyVISA-py"
        late = ", the reply is under way" if self.fault == "delay" else ""
        return f"{self.wire}, {backend}, interrupt: {self.interrupt}{late}"


ROWS = [
    Row("socket", native=True),
    Row("serial", native=True),
    Row("socket"),
    Row("vxi11"),
    Row("vxi11", "abort"),
    Row("vxi11", "abort", fault="delay"),
    Row("vxi11", "device_clear"),
    Row("hislip"),
    Row("hislip", "device_clear"),
    Row("hislip", "device_clear", fault="delay"),
    Row("hislip", "abort"),
    Row("prologix"),
    Row("prologix", "device_clear"),
]


@dataclass(frozen=True, slots=True)
class Stop:
    """One E-stop: its bound and its time until OFF was executed, in seconds."""

    bound_s: float
    executed_s: float
    outcome: str


def run() -> list[Figure]:
    """Measure every row; the target is the E-stop's bound, plus the grace of a cancelled call."""
    rows = [row for row in ROWS if row.wire != "serial" or sys.platform != "win32"]
    return [_figure(row, asyncio.run(_stops(row))) for row in rows]


def _figure(row: Row, stops: list[Stop]) -> Figure:
    executed_ms = [stop.executed_s * 1e3 for stop in stops]
    outcomes = "/".join(sorted({stop.outcome for stop in stops}))
    return Figure(
        row.name,
        median(executed_ms),
        "ms",
        round((max(stop.bound_s for stop in stops) + CANCEL_GRACE_S) * 1e3),
        f"most {max(executed_ms):.1f} ms, n = {len(stops)}; the read: {outcomes}",
    )


async def _stops(row: Row) -> list[Stop]:
    with SimBench(wires=[row.wire]) as bench:
        manager = pyvisa.ResourceManager("@py")
        adapters = [manager.open_resource(name) for name in bench.interfaces.values()]
        try:
            return [await _stop(bench, row, number) for number in range(SAMPLES)]
        finally:
            for adapter in adapters:
                with contextlib.suppress(Exception):
                    adapter.close()


async def _stop(bench: SimBench, row: Row, number: int) -> Stop:
    link = _link(bench, row)
    await link.open(5.0)
    try:
        async with SafetyAwareDispatcher.on(link) as smu:
            await (await smu.submit("on", b"OUTP ON", Priority.CONTROL))
            bench.control.fault("smu", row.fault, pattern="READ", count=1, **_seconds(row))
            await smu.submit("read", b"READ?", Priority.QUERY, timeout=BUDGET_S)
            await asyncio.sleep(BLOCKED_S)
            begun_s = time.monotonic()
            await (await smu.submit("off", b"OUTP OFF", Priority.SAFETY))
            executed_s = await _executed(bench, number + 1) - begun_s
            read, off = (r for r in smu.records if r.cmd_id in ("read", "off"))
    finally:
        await link.close()
        await _left_behind_ended()
    return Stop(off.bound_s, executed_s, read.outcome)


async def _executed(bench: SimBench, times: int) -> float:
    """Return when OFF was executed for the time numbered ``times``, in monotonic seconds."""
    async with asyncio.timeout(EXECUTED_S):
        while True:
            executed = [entry.t for entry in bench.witness() if entry.message == "OUTP OFF"]
            if len(executed) >= times:
                return executed[times - 1]
            await asyncio.sleep(0.005)


def _link(bench: SimBench, row: Row) -> InstrumentLink:
    resource = bench.resource_name("smu", row.wire)
    if row.native:
        profile = shipped_profile("generic-scpi")
        return link_of(InstrumentSpec(name="smu", resource=resource), profile, profile.identity)
    return VisaLink(VisaAddress(resource=resource, library="@py", interrupt=row.interrupt))


def _seconds(row: Row) -> dict[str, Any]:
    return {"seconds": 2 * BUDGET_S} if row.fault == "delay" else {}


async def _left_behind_ended() -> None:
    """Wait for calls that were left behind: they spin when their server goes away."""
    for thread in threading.enumerate():
        if thread.name.startswith("safetyq "):
            await asyncio.to_thread(thread.join, LEFT_BEHIND_S)
