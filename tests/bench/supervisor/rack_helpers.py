"""What the tests of the rack share: openings without VISA."""

import asyncio
from typing import Any

from supervisor_helpers import OFF_PROFILE, off_link, started

from pytest_safetyq.bench.config import Profile
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.rack import Rack
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.links import ScriptedLink


class Openings:
    """Takes the place of opening through VISA; says what was opened."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.links: dict[str, ScriptedLink] = {}
        self.profiles: dict[str, Profile] = {}
        self.errors: dict[str, Exception] = {}
        self.gate: asyncio.Event | None = None

    async def open(self, spec: InstrumentSpec) -> OwnedInstrument:
        self.opened.append(spec.name)
        if self.gate is not None:
            await self.gate.wait()
        if spec.name in self.errors:
            raise self.errors[spec.name]
        link = self.links.setdefault(spec.name, off_link())
        profile = self.profiles.get(spec.name, OFF_PROFILE)
        instrument = await started(link, profile, name=spec.name)
        instrument.spec = spec
        return instrument


def spec_of(name: str, *, simulated: bool = True, **more: Any) -> InstrumentSpec:
    settings = {"resource": f"{name}::INSTR", "library": "@sim" if simulated else "@py", **more}
    return InstrumentSpec(name=name, **settings)


async def rack_of(*names: str) -> Rack:
    rack = Rack()
    for name in names:
        await rack.open(spec_of(name))
    return rack
