"""VXI-11's lock: refused, waited for, aborted, and outliving its client when asked to."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator

import pytest
from scripted_bench import ScriptedDevice, Served, serving, until
from vxi11_client import Link

from sim_instruments.faults import Rule
from sim_instruments.wires.vxi11.codes import CoreProcedure, ErrorCode, Flag
from sim_instruments.wires.vxi11.listener import Vxi11Listener

OK = ErrorCode.NO_ERROR


@pytest.fixture
def device() -> ScriptedDevice:
    return ScriptedDevice()


@pytest.fixture
async def served(device: ScriptedDevice) -> AsyncIterator[Served]:
    async with serving(Vxi11Listener(), device) as served:
        yield served


@pytest.fixture
async def link(served: Served) -> Link:
    return await Link.create(served.port)


@pytest.fixture
async def other(served: Served) -> Link:
    return await Link.create(served.port)


@pytest.mark.parametrize(
    "procedure",
    [
        CoreProcedure.DEVICE_READSTB,
        CoreProcedure.DEVICE_TRIGGER,
        CoreProcedure.DEVICE_CLEAR,
        CoreProcedure.DEVICE_REMOTE,
        CoreProcedure.DEVICE_LOCAL,
    ],
)
async def test_operations_are_refused_while_another_link_holds_the_lock(
    link: Link, other: Link, procedure: CoreProcedure
) -> None:
    assert (await other.generic(procedure)).read_int() == OK
    assert await link.lock() == OK
    assert (await link.generic(procedure)).read_int() == OK
    assert (await other.generic(procedure)).read_int() == ErrorCode.DEVICE_LOCKED


async def test_a_locked_device_answers_11_at_once_or_after_the_lock_timeout(
    link: Link, other: Link, device: ScriptedDevice
) -> None:
    loop = asyncio.get_running_loop()
    await link.lock()
    assert await other.write(b"OUTP 1") == (ErrorCode.DEVICE_LOCKED, 0)
    begun_s = loop.time()
    waiting = {"flags": Flag.WAIT_LOCK | Flag.END, "lock_timeout_ms": 50}
    assert await other.write(b"OUTP 1", **waiting) == (ErrorCode.DEVICE_LOCKED, 0)
    assert loop.time() - begun_s >= 0.049
    assert (await other.read())[0] == ErrorCode.DEVICE_LOCKED
    assert await other.lock() == ErrorCode.DEVICE_LOCKED
    assert await link.lock() == ErrorCode.DEVICE_LOCKED
    assert device.executed == []


async def test_who_waits_for_the_lock_goes_on_when_it_is_released(
    link: Link, other: Link, device: ScriptedDevice
) -> None:
    await link.lock()
    waiting = asyncio.create_task(
        other.write(b"OUTP 0", flags=Flag.WAIT_LOCK | Flag.END, lock_timeout_ms=60_000)
    )
    assert await link.query("A?") == "A?"
    assert await link.on_link(CoreProcedure.DEVICE_UNLOCK) == OK
    assert await waiting == (OK, 6)
    assert device.executed == ["A?", "OUTP 0"]
    assert await link.on_link(CoreProcedure.DEVICE_UNLOCK) == ErrorCode.NO_LOCK_HELD


async def test_a_wait_for_the_lock_can_be_aborted(link: Link, other: Link) -> None:
    await link.lock()
    waiting = asyncio.create_task(other.lock(flags=Flag.WAIT_LOCK, lock_timeout_ms=60_000))
    # The call is under way once a later connection has been served.
    assert await link.query("A?") == "A?"
    await asyncio.sleep(0.02)
    assert await other.abort() == OK
    assert await waiting == ErrorCode.ABORT
    await link.on_link(CoreProcedure.DEVICE_UNLOCK)
    assert await link.lock() == OK


async def test_a_link_can_be_created_with_the_lock_or_not_at_all(
    served: Served, link: Link
) -> None:
    owner = await Link.create(served.port, lock=True)
    assert owner.error == OK
    refused = await Link.create(served.port, lock=True, lock_timeout_ms=20)
    assert refused.error == ErrorCode.DEVICE_LOCKED
    assert await link.write(b"A") == (ErrorCode.DEVICE_LOCKED, 0)
    assert await owner.on_link(CoreProcedure.DESTROY_LINK) == OK
    assert await link.write(b"A") == (OK, 1)
    assert served.place.clients == 1


@pytest.mark.parametrize("waits_for", ["nothing", "a reply", "the lock"])
async def test_the_lock_of_a_client_that_vanished_is_released_at_once(
    served: Served, link: Link, other: Link, device: ScriptedDevice, waits_for: str
) -> None:
    await link.lock()
    if waits_for == "a reply":
        arguments = link.read_arguments(io_timeout_ms=60_000)
        link.connection.send(CoreProcedure.DEVICE_READ, arguments)
        await until(lambda: device.reads_without_query == 1)
    elif waits_for == "the lock":
        third = await Link.create(served.port)
        arguments = struct.pack(">iiI", third.number, Flag.WAIT_LOCK, 60_000)
        third.connection.send(CoreProcedure.DEVICE_LOCK, arguments)
        await third.connection.writer.drain()
        third.vanish()
    waiting = asyncio.create_task(
        other.write(b"OUTP 0", flags=Flag.WAIT_LOCK | Flag.END, lock_timeout_ms=60_000)
    )
    link.vanish()
    assert await waiting == (OK, 6)
    await until(lambda: served.place.clients == 1)
    assert await other.lock() == OK


async def test_a_sticky_lock_outlives_its_client_once(
    served: Served, link: Link, other: Link
) -> None:
    served.place.add_fault(Rule("sticky_lock", count=1))
    await link.lock()
    link.vanish()
    await until(lambda: served.place.clients == 1)
    assert await other.write(b"A") == (ErrorCode.DEVICE_LOCKED, 0)
