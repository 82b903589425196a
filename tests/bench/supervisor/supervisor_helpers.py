"""What the tests of the supervisor share: an instrument on a scripted link."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pytest_safetyq import SafetyAwareDispatcher
from pytest_safetyq.bench.config import Confirm, Profile, Step
from pytest_safetyq.bench.limits import Limits
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.links import ScriptedLink

T = TypeVar("T")

running: list[OwnedInstrument] = []
"""What was started in the current test; the fixtures stop what the test has not."""

LOADED_S = 0.25
"""Seconds that a busy machine may add to a wait; what is told apart differs by more."""

OFF_PROFILE = Profile(
    off=(Step(send="OUTP OFF"),), confirm=Confirm(query="OUTP?", accept=("0", "OFF"))
)


def profile_of(*off: str | Step, accept: tuple[str, ...] = ("0", "OFF"), **more: Any) -> Profile:
    """Return a profile with these off steps, read back with ``OUTP?``."""
    steps = tuple(Step(send=step) if isinstance(step, str) else step for step in off)
    confirm = Confirm(query="OUTP?", accept=accept) if steps else None
    return Profile(off=steps, confirm=confirm, **more)


def instrument_on(
    link: Any,
    profile: Profile = OFF_PROFILE,
    *,
    name: str = "smu",
    timeout_s: float = 1.0,
    limits: Limits | None = None,
    **settings: Any,
) -> OwnedInstrument:
    """Return an instrument on ``link``, its dispatcher not yet started."""
    return OwnedInstrument(
        spec=InstrumentSpec(name=name, resource=f"{name}::INSTR"),
        model="test-model",
        profile=profile,
        identity="ACME",
        timeout_s=timeout_s,
        limits=limits or Limits(),
        link=link,
        dispatcher=SafetyAwareDispatcher.on(
            link, inter_command_delay=profile.gap_s, name=name, **settings
        ),
    )


async def started(link: Any, profile: Profile = OFF_PROFILE, **settings: Any) -> OwnedInstrument:
    """Return an instrument on ``link`` whose dispatcher runs."""
    instrument = instrument_on(link, profile, **settings)
    await instrument.dispatcher.start()
    running.append(instrument)
    return instrument


def off_link(**replies: bytes) -> ScriptedLink:
    """Return a link whose instrument is off and says so."""
    return ScriptedLink({b"OUTP?": b"0", **{q.encode(): a for q, a in replies.items()}})


async def until(condition: Callable[[], object]) -> None:
    """Wait for ``condition``, for 5 s at the most."""
    async with asyncio.timeout(5.0):
        while not condition():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0.001)


def now() -> float:
    return time.monotonic()


def in_background(work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Start ``work``; a test that fails before it looks at the outcome leaves no noise."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda t: t.cancelled() or t.exception())
    return task
