"""HiSLIP's locks: exclusive, shared, waited for, and outliving their client when asked to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hislip_client import Client
from scripted_bench import ScriptedDevice, Served, serving, until

from sim_instruments.faults import Rule
from sim_instruments.wires.hislip.codes import LockResponse, MessageType
from sim_instruments.wires.hislip.listener import HislipListener

FAILURE, SUCCESS, SHARED, ERROR = LockResponse


@pytest.fixture
def device() -> ScriptedDevice:
    return ScriptedDevice()


@pytest.fixture
async def served(device: ScriptedDevice) -> AsyncIterator[Served]:
    async with serving(HislipListener(), device) as served:
        yield served


@pytest.fixture
async def owner(served: Served) -> Client:
    return await Client.connect(served.port)


@pytest.fixture
async def other(served: Served) -> Client:
    return await Client.connect(served.port)


async def holders(client: Client) -> tuple[int, int]:
    info = await client.async_.ask(MessageType.ASYNC_LOCK_INFO)
    assert info.kind == MessageType.ASYNC_LOCK_INFO_RESPONSE
    return info.control, info.parameter


async def test_an_exclusive_lock_is_granted_told_and_released(owner: Client, other: Client) -> None:
    assert await holders(other) == (0, 0)
    assert await owner.lock() == SUCCESS
    assert await holders(other) == (1, 1)
    assert await other.lock() == FAILURE
    assert await owner.lock() == ERROR
    assert await other.unlock() == ERROR
    assert await owner.unlock() == SUCCESS
    assert await holders(other) == (0, 0)


async def test_a_lock_defers_the_messages_of_others_silently_and_in_order(
    owner: Client, other: Client, device: ScriptedDevice
) -> None:
    await owner.lock()
    other.write("OUTP 0")
    other.write("A?")
    assert await owner.query("B?", rmt=False) == "B?"
    assert await other.status() == 0
    assert await other.sync.is_silent()
    assert device.executed == ["B?"]
    await owner.unlock()
    assert (await other.read()).payload == b"A?\n"
    assert device.executed == ["B?", "OUTP 0", "A?"]


async def test_a_lock_that_is_waited_for_is_granted_on_release(
    owner: Client, other: Client
) -> None:
    await owner.lock()
    waiting = asyncio.create_task(other.lock(timeout_ms=10_000))
    await asyncio.sleep(0.02)
    assert await owner.unlock() == SUCCESS
    assert await waiting == SUCCESS
    assert await holders(owner) == (1, 1)


async def test_a_lock_that_is_waited_for_too_long_fails_and_is_not_taken_later(
    owner: Client, other: Client
) -> None:
    await owner.lock()
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    assert await other.lock(timeout_ms=50) == FAILURE
    assert loop.time() - begun_s >= 0.049
    await owner.unlock()
    assert await holders(owner) == (0, 0)


async def test_a_second_request_while_one_waits_is_an_error(owner: Client, other: Client) -> None:
    await owner.lock()
    other.async_.send(MessageType.ASYNC_LOCK, 1, 10_000)
    assert await other.lock() == ERROR
    await owner.unlock()
    assert (await other.async_.receive()).control == SUCCESS


async def test_a_shared_lock_is_shared_by_those_who_know_its_key(
    owner: Client, other: Client, served: Served, device: ScriptedDevice
) -> None:
    outsider = await Client.connect(served.port)
    assert await owner.lock("key") == SUCCESS
    assert await other.lock("key") == SUCCESS
    assert await outsider.lock("other key") == FAILURE
    assert await outsider.lock() == FAILURE
    assert await holders(outsider) == (0, 2)
    outsider.write("OUTP 0")
    assert await owner.query("A?", rmt=False) == "A?"
    assert await other.query("B?", rmt=False) == "B?"
    assert device.executed == ["A?", "B?"]
    assert await owner.unlock() == SHARED
    assert await other.unlock() == SHARED
    await until(lambda: device.executed == ["A?", "B?", "OUTP 0"])


async def test_one_who_shares_may_shut_the_others_out_and_gives_that_back_first(
    owner: Client, other: Client, device: ScriptedDevice
) -> None:
    await owner.lock("key")
    await other.lock("key")
    assert await owner.lock() == SUCCESS
    assert await holders(owner) == (1, 2)
    other.write("OUTP 0")
    assert await owner.query("A?", rmt=False) == "A?"
    assert device.executed == ["A?"]
    assert await owner.unlock() == SUCCESS
    await until(lambda: device.executed == ["A?", "OUTP 0"])
    assert await owner.unlock() == SHARED


async def test_what_was_sent_under_the_lock_is_executed_under_it(
    owner: Client, other: Client, device: ScriptedDevice
) -> None:
    await owner.lock()
    other.write("OUTP 1")
    sent = owner.message_id
    owner.async_.send(MessageType.ASYNC_LOCK, 0, sent)
    assert await owner.status() == 0
    assert await holders(other) == (1, 1)
    owner.write("OUTP 0")
    assert (await owner.async_.receive()).control == SUCCESS
    await until(lambda: device.executed == ["OUTP 0", "OUTP 1"])


async def test_device_clear_works_for_one_who_is_locked_out(
    owner: Client, other: Client, device: ScriptedDevice
) -> None:
    await owner.lock()
    other.write("OUTP 1")
    assert await other.clear() == 0
    other.write("OUTP 0")
    await owner.unlock()
    await until(lambda: device.executed == ["OUTP 0"])


@pytest.mark.parametrize("waits_for", ["nothing", "a reply", "a lock"])
async def test_the_lock_of_a_client_that_vanished_is_released_at_once(
    owner: Client, other: Client, served: Served, device: ScriptedDevice, waits_for: str
) -> None:
    await owner.lock()
    if waits_for == "a reply":
        served.place.add_fault(Rule("delay", pattern="A", seconds=30))
        owner.write("A?")
        await until(lambda: device.executed == ["A?"])
    elif waits_for == "a lock":
        third = await Client.connect(served.port)
        third.async_.send(MessageType.ASYNC_LOCK, 1, 60_000)
        await third.status()
        third.vanish()
    other.write("OUTP 0")
    owner.vanish()
    await until(lambda: device.executed[-1:] == ["OUTP 0"])
    await until(lambda: served.place.clients == 1)
    assert await holders(other) == (0, 0)


async def test_a_sticky_lock_outlives_its_client_once(
    owner: Client, other: Client, served: Served, device: ScriptedDevice
) -> None:
    served.place.add_fault(Rule("sticky_lock", count=1))
    await owner.lock()
    owner.vanish()
    await until(lambda: served.place.clients == 1)
    assert await holders(other) == (1, 1)
    other.write("OUTP 0")
    assert await other.status() == 0
    assert device.executed == []
