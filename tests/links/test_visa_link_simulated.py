"""`VisaLink` through real PyVISA, on the simulated bench."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pyvisa
import yaml

import sim_instruments
from pytest_safetyq import LinkLost, Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.links import RawBytes
from pytest_safetyq.links.visa import VisaLink
from pytest_safetyq.links.visa_session import VisaAddress

SAFETY, CONTROL, QUERY, POLL = Priority
SMU, SUPPLY = "GPIB0::5::INSTR", "GPIB0::6::INSTR"
SMU_IDENTITY = b"KEITHLEY INSTRUMENTS INC.,MODEL 2400,SIM0001,C32"
LOADED_S = 0.25

Bench = Callable[..., str]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Write the bundled bench to a fresh file, with traits of the SMU; return its library."""
    sim_instruments.install()

    def write(name: str = "bench.yaml", **traits: Any) -> str:
        data = yaml.load(sim_instruments.BENCH_YAML.read_text(), Loader=yaml.BaseLoader)
        data["devices"]["smu"]["scpi" if "scpi" in traits else "traits"] = traits
        path = tmp_path / name
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return f"{path}@sim"

    return write


def link_to(library: str, resource: str = SMU, **settings: Any) -> VisaLink:
    address = VisaAddress(resource=resource, library=library)
    return VisaLink(address, **settings)


async def test_the_identity_is_known_when_it_is_open(bench: Bench) -> None:
    link = await link_to(bench()).open(2.0)
    assert link.identity == SMU_IDENTITY
    await link.close()


async def test_a_dispatcher_drives_it(bench: Bench) -> None:
    link = await link_to(bench()).open(2.0)
    async with SafetyAwareDispatcher.on(link) as smu:
        await (await smu.submit("level", b":SOUR:VOLT 5", CONTROL))
        await (await smu.submit("on", b":OUTP ON", CONTROL))
        assert await (await smu.submit("on?", b":OUTP?", QUERY)) == b"1"
        assert await (await smu.submit("raw", RawBytes(b":OUTP?\n"), QUERY)) == b"1\n"
        await (await smu.submit("off", b":OUTP OFF", SAFETY))
        assert await (await smu.submit("off?", b":OUTP?", SAFETY)) == b"0"
    await link.close()


async def test_a_reply_at_800_ms_to_a_query_of_500_ms_answers_nobody(bench: Bench) -> None:
    link = await link_to(bench(takes_s={":READ?": 0.8})).open(2.0)
    async with SafetyAwareDispatcher.on(link) as smu:
        with pytest.raises(TransactionTimeout):
            await (await smu.submit("late", b":READ?", QUERY, timeout=0.5))
        assert await (await smu.submit("off?", b":OUTP?", QUERY)) == b"0"
        assert await (await smu.submit("error?", b":SYST:ERR?", QUERY)) == b'0,"No error"'
        assert smu.discarded_replies == 1
    await link.close()


async def test_a_reply_that_is_later_than_the_resynchronisation_answers_nobody(
    bench: Bench,
) -> None:
    link = await link_to(bench(takes_s={":READ?": 0.4}), resync_budget_s=0.6).open(2.0)
    async with SafetyAwareDispatcher.on(link) as smu:
        with pytest.raises(TransactionTimeout):
            await (await smu.submit("late", b":READ?", QUERY, timeout=0.05))
        assert await (await smu.submit("off?", b":OUTP?", QUERY)) == b"0"
        assert await (await smu.submit("error?", b":SYST:ERR?", QUERY)) == b'0,"No error"'
    await link.close()


async def test_a_device_clear_which_the_simulation_does_not_have_does_no_harm(
    bench: Bench,
) -> None:
    link = await link_to(bench(takes_s={":READ?": 0.2}), device_clear=True).open(2.0)
    async with SafetyAwareDispatcher.on(link) as smu:
        with pytest.raises(TransactionTimeout):
            await (await smu.submit("late", b":READ?", QUERY, timeout=0.05))
        assert await (await smu.submit("off?", b":OUTP?", QUERY)) == b"0"
        assert smu.discarded_replies == 1
    await link.close()


async def test_a_mute_instrument_can_not_be_opened(bench: Bench) -> None:
    started = time.monotonic()
    with pytest.raises(LinkLost, match="no answer"):
        await link_to(bench(mute="true")).open(1.0)
    assert time.monotonic() - started < 4.0


async def test_an_address_that_the_simulation_does_not_have_is_refused(bench: Bench) -> None:
    with pytest.raises(LinkLost, match="the simulation has no address GPIB0::29::INSTR"):
        await link_to(bench(), "GPIB0::29::INSTR").open(5.0)


@pytest.mark.parametrize("resource", ["GPIB0::5", "GPIB::5::INSTR"])
async def test_a_short_name_is_the_address_that_it_stands_for(bench: Bench, resource: str) -> None:
    link = await link_to(bench(), resource).open(2.0)
    assert link.identity == SMU_IDENTITY
    await link.close()


@pytest.mark.parametrize("resource", ["", "nonsense", "GPIB0::five::INSTR", "GPIB0::5::SPAM"])
async def test_what_is_no_resource_name_is_a_lost_link_in_one_line(
    bench: Bench, resource: str
) -> None:
    with pytest.raises(LinkLost) as caught:
        await link_to(bench(), resource).open(1.0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("library", ["@no_such_backend", "/no/such/file.yaml@sim", "/no/such.so"])
async def test_a_library_that_does_not_exist_is_a_lost_link_in_one_line(library: str) -> None:
    with pytest.raises(LinkLost, match=r"GPIB0::5::INSTR can't be opened") as caught:
        await link_to(library).open(1.0)
    assert "\n" not in str(caught.value)


async def test_a_bench_file_with_a_mistake_is_a_lost_link_in_one_line(bench: Bench) -> None:
    with pytest.raises(LinkLost, match="can't be opened") as caught:
        await link_to(bench(spam="1")).open(1.0)
    assert "\n" not in str(caught.value)


async def test_closing_one_link_leaves_the_others_of_its_library_alone(bench: Bench) -> None:
    library = bench()
    manager = pyvisa.ResourceManager(library)
    smu, supply = await link_to(library).open(2.0), await link_to(library, SUPPLY).open(2.0)
    async with SafetyAwareDispatcher.on(supply) as dispatcher:
        await smu.close()
        for _ in range(3):
            assert await (await dispatcher.submit("off?", b"OUTP? (@1)", QUERY)) == b"0"
    assert manager.session, "the resource manager is still open"
    await supply.close()


async def closed_behind_its_back(library: str) -> tuple[VisaLink, SafetyAwareDispatcher]:
    """Return a link whose resource manager somebody else has closed, and its dispatcher."""
    link = await link_to(library, resync_budget_s=4.0).open(2.0)
    dispatcher = SafetyAwareDispatcher.on(link)
    await dispatcher.start()
    pyvisa.ResourceManager(library).close()
    return link, dispatcher


async def test_a_session_closed_behind_its_back_is_a_lost_link_and_reopened(bench: Bench) -> None:
    link, smu = await closed_behind_its_back(bench())
    with pytest.raises(LinkLost):
        await (await smu.submit("q", b":OUTP?", QUERY))
    assert await (await smu.submit("q", b":OUTP?", QUERY)) == b"0"
    await smu.stop()
    await link.close()


async def test_a_dirty_session_closed_behind_its_back_is_reopened(bench: Bench) -> None:
    link, smu = await closed_behind_its_back(bench())
    smu.distrust(lost=False)
    assert await (await smu.submit("q", b":OUTP?", QUERY)) == b"0"
    await smu.stop()
    await link.close()


async def test_an_estop_on_a_session_closed_behind_its_back_gets_through_by_the_second(
    bench: Bench,
) -> None:
    link, smu = await closed_behind_its_back(bench())
    with pytest.raises(LinkLost):
        await (await smu.submit("off 1", b":OUTP OFF", SAFETY))
    assert await (await smu.submit("off 2", b":OUTP OFF", SAFETY)) == b""
    assert await (await smu.submit("off?", b":OUTP?", SAFETY)) == b"0"
    await smu.stop()
    await link.close()


async def test_an_estop_behind_a_slow_read_is_within_its_bound(bench: Bench) -> None:
    link = await link_to(bench(takes_s={":READ?": 0.3})).open(2.0)
    async with SafetyAwareDispatcher.on(link) as smu:
        polls = [await smu.submit(f"p{n}", b":READ?", POLL, timeout=1.0) for n in range(50)]
        await asyncio.sleep(0.05)
        assert smu.running_priority is POLL
        await (await smu.submit("off", b":OUTP OFF", SAFETY))
        await smu.abort_low_priority()
        (record,) = [r for r in smu.records if r.cmd_id == "off"]
    assert sum(poll.cancelled() for poll in polls) >= 48
    assert record.dispatch_latency_s is not None
    assert record.dispatch_latency_s <= record.bound_s + LOADED_S
    await link.close()


async def test_an_estop_during_the_resynchronisation_of_a_slow_instrument_is_sent(
    bench: Bench,
) -> None:
    link = await link_to(bench(takes_s={":READ?": 0.6})).open(2.0)
    async with SafetyAwareDispatcher.on(link) as smu:
        await (await smu.submit("on", b":OUTP ON", CONTROL))
        with pytest.raises(TransactionTimeout):
            await (await smu.submit("late", b":READ?", QUERY, timeout=0.05))
        query = await smu.submit("on?", b":OUTP?", QUERY)
        await asyncio.sleep(0.1)
        assert not query.done(), "the link waits for the late reply"
        assert await (await smu.submit("off", b":OUTP OFF", SAFETY)) == b""
        assert await query == b"0"
    await link.close()
