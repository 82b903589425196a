"""What the tests of the dispatcher share."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from pytest_safetyq import Priority, SafetyAwareDispatcher, TransactionRecord
from pytest_safetyq.links import ScriptedLink

T = TypeVar("T")

LOADED_S = 0.25
"""Seconds that a busy machine may add to a wait; what is told apart differs by more."""

BLOCKED_S = 0.25
"""Seconds for which a first command keeps the link from what is submitted behind it."""

SHORT_DRAIN_S = 0.25
"""Seconds that a drain takes where nothing comes, for tests that only have to sit it out."""


class Owner(Protocol):
    """Makes a dispatcher that owns a link."""

    def __call__(self, link: ScriptedLink, **settings: Any) -> SafetyAwareDispatcher: ...


def on_link(link: ScriptedLink, **settings: Any) -> SafetyAwareDispatcher:
    """Hand the link over as it is."""
    return SafetyAwareDispatcher.on(link, **settings)


def on_callbacks(link: ScriptedLink, **settings: Any) -> SafetyAwareDispatcher:
    """Hand over nothing but two plain callables."""

    async def read() -> bytes:
        return await link.read()

    async def write(payload: bytes) -> None:
        await link.write(payload)

    return SafetyAwareDispatcher(read, write, **settings)


async def turns(count: int = 12) -> None:
    """Let the loop turn; no time passes to speak of."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    """Wait for ``condition``, for 5 s at the most."""
    async with asyncio.timeout(5.0):
        while not condition():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0.001)


async def on_the_wire(
    dispatcher: SafetyAwareDispatcher,
    link: ScriptedLink,
    job: Callable[[Any], Awaitable[T]],
    priority: Priority,
    **settings: Any,
) -> "asyncio.Task[T]":
    """Start a job; return its task when its first transaction has been sent."""
    running = asyncio.create_task(dispatcher.run_job(job, priority, **settings))
    await until(lambda: link.sent)
    return running


def record_of(dispatcher: SafetyAwareDispatcher, cmd_id: str) -> TransactionRecord:
    """Return the only record of ``cmd_id``."""
    (record,) = [r for r in dispatcher.records if r.cmd_id == cmd_id]
    return record


def outcomes(dispatcher: SafetyAwareDispatcher) -> list[tuple[str, str]]:
    """Return name and outcome of every record, oldest first."""
    return [(r.cmd_id, r.outcome) for r in dispatcher.records]


async def never() -> None:
    """Wait until cancelled."""
    await asyncio.get_running_loop().create_future()


async def stubborn(release: asyncio.Event) -> None:
    """Wait until ``release``, whoever cancels."""
    while not release.is_set():
        try:
            await release.wait()
        except asyncio.CancelledError:
            continue
