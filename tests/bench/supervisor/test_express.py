"""The express session: "off" is executed while a slow query is in flight; by the witness."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pytest_safetyq import Priority, TransactionTimeout
from pytest_safetyq.bench.profiles import shipped_profile
from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.opening import open_instrument
from pytest_safetyq.bench.supervisor.safe_state import SafeState
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from sim_instruments.sim_bench import SimBench

WIRES = ["socket", "hislip", "vxi11", "serial"]
SLOW_S = 1.5


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimBench]:
    with SimBench(wires=WIRES, directory=tmp_path_factory.mktemp("served")) as bench:
        yield bench


@pytest.fixture
def bench(served: SimBench) -> Iterator[SimBench]:
    yield served
    served.control.lift()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[SimBench]:
    with SimBench(directory=tmp_path) as bench:
        yield bench


async def opened(bench: SimBench, wire: str, *, clients: int = 2) -> OwnedInstrument:
    profile = msgspec.structs.replace(shipped_profile("keithley-2400"), clients=clients)
    return await open_instrument(
        InstrumentSpec(
            name="smu",
            resource=bench.resource_name("smu", wire),
            library="@py",
            model="keithley-2400",
            profile=profile,
            timeout_s=5.0,
        )
    )


async def stopped_during_a_slow_query(
    bench: SimBench, wire: str, *, clients: int = 2, query: bytes = b":READ?"
) -> tuple[EStopReport, float]:
    """Return the report, and after how many seconds the instrument executed OFF."""
    smu = await opened(bench, wire, clients=clients)
    try:
        await smu.submit("on", b":OUTP ON", Priority.CONTROL)
        await smu.submit("q", b":OUTP?", Priority.QUERY)
        bench.control.fault("smu", "delay", pattern="READ", count=1, seconds=SLOW_S)
        slow = smu.submit("slow", query, Priority.QUERY)
        await asyncio.sleep(0.1)
        begun_s = time.monotonic()
        report = await SafeState(smu).enter("test", begun_s)
        assert slow.done()
    finally:
        await smu.close()
    offs = [e.t for e in bench.witness() if e.message == ":OUTP OFF" and e.t > begun_s]
    return report, offs[0] - begun_s


@pytest.mark.parametrize("wire", ["socket", "hislip", "vxi11"])
def test_off_overtakes_a_query_that_is_in_flight(bench: SimBench, wire: str) -> None:
    report, executed_s = asyncio.run(stopped_during_a_slow_query(bench, wire))
    assert executed_s < SLOW_S / 3
    assert report.confirmed
    assert report.dispatch_latency_s is not None
    assert report.dispatch_latency_s < SLOW_S / 3
    assert report.bound_s == 0.0
    ways = [(step.command, step.by_express) for step in report.steps]
    assert ways == [
        (":OUTP OFF", True),
        (":OUTP?", True),
        (":OUTP OFF", False),
        (":OUTP?", False),
    ]


def test_the_last_word_has_the_link_on_which_something_was_in_flight(bench: SimBench) -> None:
    """What is in flight may switch on again when its turn comes."""
    report, _ = asyncio.run(stopped_during_a_slow_query(bench, "socket", query=b":READ?;:OUTP ON"))
    assert report.confirmed_latency_s is not None
    assert report.confirmed_latency_s > SLOW_S / 2
    assert bench.control.state("smu").output == {"1": False}


@pytest.mark.parametrize(("wire", "clients"), [("socket", 1), ("serial", 2)])
def test_without_a_second_session_it_waits_for_the_rest_of_the_query(
    bench: SimBench, wire: str, clients: int
) -> None:
    report, executed_s = asyncio.run(stopped_during_a_slow_query(bench, wire, clients=clients))
    assert executed_s > SLOW_S / 2
    assert report.confirmed
    assert not any(step.by_express for step in report.steps)
    assert report.bound_s > SLOW_S / 2


def test_on_an_idle_link_the_express_session_is_not_needed(bench: SimBench) -> None:
    async def main() -> EStopReport:
        smu = await opened(bench, "socket")
        try:
            return await SafeState(smu).enter("test", time.monotonic())
        finally:
            await smu.close()

    report = asyncio.run(main())
    assert [step.command for step in report.steps] == [":OUTP OFF", ":OUTP?"]
    assert not any(step.by_express for step in report.steps)


def test_where_the_link_answers_no_more_the_express_session_confirms(bench: SimBench) -> None:
    async def main() -> EStopReport:
        smu = await opened(bench, "socket")
        try:
            await smu.submit("on", b":OUTP ON", Priority.CONTROL)
            # Every reply on the link's own connection comes too late from now on.
            smu.dispatcher.distrust(lost=False)
            bench.control.fault("smu", "delay", pattern="READ|IDN", count=8, seconds=9.0)
            smu.timeout_s = 0.2
            with pytest.raises(TransactionTimeout):
                await smu.submit("slow", b":READ?", Priority.QUERY)
            return await SafeState(smu).enter("test", time.monotonic())
        finally:
            await smu.close()

    report = asyncio.run(main())
    assert report.confirmed
    assert bench.control.state("smu").output == {"1": False}


def test_an_instrument_that_takes_one_client_only_is_opened_all_the_same(
    fresh: SimBench, caplog: pytest.LogCaptureFixture
) -> None:
    fresh.control.trait("smu", "clients", 1)

    async def main() -> None:
        smu = await opened(fresh, "socket")
        assert smu.express is None
        await smu.close()

    asyncio.run(main())
    assert "there is no express session" in caplog.text


def test_nothing_is_left_open(fresh: SimBench) -> None:
    async def main() -> None:
        smu = await opened(fresh, "socket")
        assert fresh.control.state("smu").clients == 2
        await smu.close()

    asyncio.run(main())
    until = time.monotonic() + 5.0
    while fresh.control.state("smu").clients and time.monotonic() < until:
        time.sleep(0.01)
    assert fresh.control.state("smu").clients == 0
