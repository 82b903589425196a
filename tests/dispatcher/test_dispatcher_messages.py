"""What an error says: which instrument, which command, which budget, on one line."""

import asyncio
from collections.abc import Callable

import pytest
from dispatcher_helpers import Owner, never

from pytest_safetyq import LinkLost, Priority, SafetyAwareDispatcher, TransactionTimeout
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


async def error_of(dispatcher: SafetyAwareDispatcher, payload: bytes) -> BaseException:
    """Return what a command with a budget of 0.02 s fails with."""
    async with dispatcher:
        future = await dispatcher.submit("c", payload, CONTROL, timeout=0.02)
        await asyncio.wait({future})
    error = future.exception()
    assert error is not None
    return error


async def test_a_query_without_an_answer(own: Owner) -> None:
    error = await error_of(own(ScriptedLink(), name="smu"), b":READ?\n")
    assert isinstance(error, TransactionTimeout)
    assert str(error) == "smu: no reply to ':READ?' within 0.02 s"


async def test_a_write_that_overstays(own: Owner) -> None:
    link = ScriptedLink(write_s=5.0)
    error = await error_of(own(link, name="smu"), b":OUTP ON")
    assert isinstance(error, TransactionTimeout)
    assert str(error) == "smu: ':OUTP ON' was not written within 0.02 s"


async def test_a_link_that_is_lost_in_the_middle(own: Owner) -> None:
    link = ScriptedLink().on(b":READ?", LinkLost("read failed: unplugged"))
    error = await error_of(own(link, name="smu"), b":READ?")
    assert isinstance(error, LinkLost)
    assert str(error) == (
        "smu: the link was lost at ':READ?' (budget 0.02 s): read failed: unplugged"
    )


@pytest.mark.parametrize("hangs", [True, False])
async def test_a_link_that_can_not_be_restored(hangs: bool) -> None:
    class Gone(ScriptedLink):
        async def resynchronise(
            self, *, owed: int, lost: bool, discard: Callable[[], None]
        ) -> None:
            if hangs:
                await never()
            raise LinkLost("unplugged")

    dispatcher = SafetyAwareDispatcher.on(Gone(resync_budget_s=0.05), name="smu")
    dispatcher.distrust(lost=True)
    error = await error_of(dispatcher, b"SOUR:VOLT 5")
    why = "the link was not resynchronised within 0.05 s" if hangs else "unplugged"
    assert isinstance(error, LinkLost)
    assert str(error) == f"smu: 'SOUR:VOLT 5' was not sent: {why}"


async def test_a_long_message_is_cut(own: Owner) -> None:
    error = await error_of(own(ScriptedLink(), name="awg"), b"DATA? " + b"1," * 5000)
    assert len(str(error)) < 120
    assert "\n" not in str(error)
