"""From what the bench file says to an instrument that is open, identified and trusted."""

import asyncio
import importlib
import warnings

import msgspec
import pyvisa

from pytest_safetyq.bench.config import Identity
from pytest_safetyq.bench.limits import Limits
from pytest_safetyq.bench.profiles import match_identity, shipped_profile
from pytest_safetyq.bench.supervisor.express import Express
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.linking import link_of, takes_second_session
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.dispatcher import SafetyAwareDispatcher
from pytest_safetyq.errors import LinkLost, SafetyError
from pytest_safetyq.links import InstrumentLink
from pytest_safetyq.links.daemon import DaemonThread
from pytest_safetyq.links.visa_session import one_line
from pytest_safetyq.scheduling import Priority

FALLBACK_MODEL = "generic-scpi"
DEFAULT_TIMEOUT_S = 2.0
OPEN_TIMEOUT_S = 5.0
SEARCH_TIMEOUT_S = 5.0
LONGEST_READBACK_S = 10.0
"""Stands for the budget of a profile that isn't known before the instrument is identified."""


def opening_bound_s(spec: InstrumentSpec) -> float:
    """Return the seconds in which `open_instrument` ends, however it ends.

    It is opened once to be identified and once more with its profile, or else a search says
    what there is instead; then a second session may be opened and the confirm query is sent.
    """
    profile_s = None if spec.profile is None else spec.profile.timeout_s
    readback_s = spec.timeout_s or profile_s or LONGEST_READBACK_S
    readbacks = 1 if spec.profile is None else max(1, len(spec.profile.confirms))
    return 3 * OPEN_TIMEOUT_S + SEARCH_TIMEOUT_S + readbacks * readback_s


async def open_instrument(spec: InstrumentSpec) -> OwnedInstrument:
    """Open the instrument, find its profile, and prove that its "off" can be read back.

    Raises:
        LinkLost: It can't be opened; the message says what was found instead.
        SafetyError: It is another model than the bench file says, or doesn't answer the
            confirm queries of its profile: then "off" could never be confirmed.
    """
    if spec.simulated:
        importlib.import_module("sim_instruments").install()
    identity = Identity() if spec.profile is None else spec.profile.identity
    link = link_of(spec, spec.profile or shipped_profile(FALLBACK_MODEL), identity)
    try:
        await link.open(OPEN_TIMEOUT_S)
    except LinkLost as error:
        try:
            found = ", ".join(await resources_of(spec.library)) or "nothing"
        except LinkLost as nothing_listed:
            found = f"nothing ({nothing_listed})"
        prefix = "" if spec.name == spec.resource else f"{spec.name}: "
        raise LinkLost(f"{prefix}{error}; found instead: {found}") from error
    answer = (link.identity or b"").decode("latin-1").strip()
    if spec.profile is None:
        link, spec = await _with_profile(spec, link, answer)
    try:
        return await _identified(spec, link, answer)
    except BaseException:
        await link.close()
        raise


async def _with_profile(
    spec: InstrumentSpec, link: InstrumentLink, answer: str
) -> tuple[InstrumentLink, InstrumentSpec]:
    """Choose the profile by the identity, and open the link anew as that profile has it."""
    model = match_identity(answer) or FALLBACK_MODEL
    spec = msgspec.structs.replace(spec, model=model, profile=shipped_profile(model))
    if model != FALLBACK_MODEL:
        await link.close()
        assert spec.profile is not None
        await asyncio.sleep(spec.profile.gap_s)  # the first link has asked just now
        link = link_of(spec, spec.profile, spec.profile.identity)
        await link.open(OPEN_TIMEOUT_S)
    return link, spec


async def resources_of(library: str) -> list[str]:
    """Return the resource names that a VISA library finds, in at most ``SEARCH_TIMEOUT_S``."""
    if library.endswith("@sim"):
        importlib.import_module("sim_instruments").install()
    thread = DaemonThread("safetyq resources")
    try:
        async with asyncio.timeout(SEARCH_TIMEOUT_S):
            return await thread.call(lambda: _list_resources(library))
    except TimeoutError as error:
        raise LinkLost(f"the VISA library lists no resources in {SEARCH_TIMEOUT_S:g} s") from error
    except Exception as error:
        # Backends raise what they like when they look around.
        raise LinkLost(f"VISA library {library or 'of the system'}: {one_line(error)}") from error
    finally:
        thread.end()


def _list_resources(library: str) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # backends warn of optional packages at every search
        return list(pyvisa.ResourceManager(library).list_resources("?*"))


async def _identified(spec: InstrumentSpec, link: InstrumentLink, answer: str) -> OwnedInstrument:
    model = spec.model or "inline"
    profile = spec.profile
    assert profile is not None
    if profile.identity is not None and not profile.identity.fits(answer):
        expected = " or ".join(repr(part) for part in profile.identity.matches)
        raise SafetyError(
            f"{spec.name}: {spec.resource} answers {answer!r}; model {model} has {expected} in it;"
            " correct the model or the resource"
        )
    express = None
    if profile.clients > 1 and takes_second_session(spec):
        express = await Express.open(
            link_of(spec, profile, profile.identity),
            name=spec.name,
            gap_s=profile.gap_s,
            timeout_s=OPEN_TIMEOUT_S,
        )
    instrument = OwnedInstrument(
        spec=spec,
        model=model,
        profile=profile,
        identity=answer,
        timeout_s=spec.timeout_s or profile.timeout_s or DEFAULT_TIMEOUT_S,
        limits=Limits.from_config(spec.limits, profile.setpoints, profile=model),
        link=link,
        dispatcher=SafetyAwareDispatcher.on(
            link, inter_command_delay=profile.gap_s, name=spec.name, history=0
        ),
        express=express,
    )
    await instrument.dispatcher.start()
    try:
        await _prove_readback(instrument)
        instrument.log.begin()  # what the opening itself sent belongs to no test
    except BaseException:
        await instrument.close()
        raise
    return instrument


async def _prove_readback(instrument: OwnedInstrument) -> None:
    """Ask every confirm query once, so that a profile that can't confirm is never trusted."""
    for confirm in instrument.profile.confirms:
        reply = instrument.dispatcher.enqueue(
            "readback",
            confirm.query.encode("latin-1"),
            Priority.SAFETY,
            timeout=instrument.timeout_s,
            expect_reply=True,
        )
        try:
            answer = await reply
        except SafetyError as error:
            raise SafetyError(
                f"{instrument.name}: model {instrument.model} reads back with {confirm.query!r},"
                f" which {instrument.spec.resource} doesn't answer ({error}); choose another model"
            ) from error
        if not answer.strip():
            raise SafetyError(
                f"{instrument.name}: {confirm.query!r} is answered with nothing;"
                " choose another model"
            )
