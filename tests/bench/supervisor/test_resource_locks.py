"""`ResourceLock`: one owner for each piece of hardware, also between processes."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from rack_helpers import Openings, rack_of, spec_of
from supervisor_helpers import (
    in_background,
)

import pytest_safetyq
from pytest_safetyq import LinkLost, Priority, SafetyError
from pytest_safetyq.bench.supervisor.locks import ResourceLock
from pytest_safetyq.bench.supervisor.rack import Rack

SAFETY, CONTROL, QUERY, POLL = Priority
ROOT = str(Path(pytest_safetyq.__file__).parents[1])


def test_a_second_holder_is_refused_and_told_who_holds_it(runtime_dir: Path) -> None:
    first, second = ResourceLock("GPIB0::5::INSTR"), ResourceLock("gpib0::5::instr")
    first.acquire("test process 4711")
    in_use = (
        r"^gpib0::5::instr is in use by test process 4711; `safetyq estop` turns it off;"
        " to use it here, wait for that process to end, or end it$"
    )
    with pytest.raises(SafetyError, match=in_use):
        second.acquire("test process 4712")
    first.release()
    second.acquire("test process 4711")
    second.release()
    assert runtime_dir.stat().st_mode & 0o077 == 0


def test_another_resource_has_a_lock_of_its_own() -> None:
    first, second = ResourceLock("GPIB0::5::INSTR"), ResourceLock("GPIB0::6::INSTR")
    first.acquire("test process 4711")
    second.acquire("test process 4711")
    first.release()
    second.release()


HOLD = """
import sys
sys.path.insert(0, sys.argv[1])
from pytest_safetyq.bench.supervisor.locks import ResourceLock
lock = ResourceLock("GPIB0::5::INSTR")
lock.acquire("test process 4711")
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_of_a_process_that_is_killed_is_free() -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, ROOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    lock = ResourceLock("GPIB0::5::INSTR")
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            with pytest.raises(SafetyError, match="in use by test process 4711;"):
                lock.acquire("test process 4711")
        finally:
            holder.kill()
    lock.acquire("test process 4711")
    lock.release()


async def test_real_hardware_has_one_owner_until_the_rack_is_closed(openings: Openings) -> None:
    first, second = Rack(), Rack()
    await first.open(spec_of("smu", simulated=False), "test process 4711")
    with pytest.raises(SafetyError, match="smu::INSTR is in use by test process 4711"):
        await second.open(spec_of("smu", simulated=False))
    assert openings.opened == ["smu"], "the second touched nothing"
    await first.close()
    await second.open(spec_of("smu", simulated=False))
    await second.close()


async def test_a_failed_opening_gives_the_lock_back(openings: Openings) -> None:
    openings.errors["smu"] = LinkLost("nobody there")
    rack = Rack()
    with pytest.raises(LinkLost, match="nobody there"):
        await rack.open(spec_of("smu", simulated=False))
    lock = ResourceLock("smu::INSTR")
    lock.acquire("test process 4711")
    lock.release()


async def test_a_cancelled_opening_gives_the_lock_back(openings: Openings) -> None:
    openings.gate = asyncio.Event()
    opening = in_background(Rack().open(spec_of("smu", simulated=False)))
    await asyncio.sleep(0.01)
    opening.cancel()
    await asyncio.wait({opening})
    lock = ResourceLock("smu::INSTR")
    lock.acquire("test process 4711")
    lock.release()


async def test_simulated_instruments_are_not_locked(openings: Openings) -> None:
    first, second = await rack_of("smu"), await rack_of("smu")
    await first.close()
    await second.close()
