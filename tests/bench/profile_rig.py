"""A simulated counterpart for each profile, opened as the supervisor opens an instrument."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

import sim_instruments
from pytest_safetyq import Priority
from pytest_safetyq.bench.config import Profile
from pytest_safetyq.bench.profiles import match_identity, shipped_profile
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.opening import open_instrument
from pytest_safetyq.bench.wire.messages import InstrumentSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@dataclass(frozen=True)
class Counterpart:
    """One simulated instrument: where it is described, and its address."""

    file: Path
    resource: str


def _described() -> Iterator[tuple[str, Counterpart]]:
    models = sorted((sim_instruments.BENCH_YAML.parent / "models").glob("*.yaml"))
    for file in (sim_instruments.BENCH_YAML, *models):
        data = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
        for resource, entry in data["resources"].items():
            device = data["devices"][entry["device"]]
            idn = next((d["r"] for d in device.get("dialogues", []) if d["q"] == "*IDN?"), "")
            yield device.get("model") or match_identity(idn), Counterpart(file, resource)


COUNTERPARTS = dict(_described())

SWITCH_ON = {
    "bk-9130b": [f"INST:SEL CH{n};:SOUR:CHAN:OUTP:STAT 1" for n in (3, 2, 1)],
    "delta-sm": ["SO:FU:RSD 0"],
    "generic-scpi": ["OUTP ON"],
    "ipg-yar": ["EMON"],
    "keithley-2400": [":OUTP ON"],
    "keithley-2450": [":OUTP ON"],
    "keithley-2450-tsp": ["smu.source.output = smu.ON"],
    "keithley-2600": ["smua.source.output = 1", "smub.source.output = 1"],
    "keithley-2601": ["smua.source.output = 1"],
    "kepco-bop": ["OUTP ON"],
    "kepco-bop-passive": ["OUTP ON"],
    "keysight-b2900": [":OUTP1 1", ":OUTP2 1"],
    "keysight-b2901": [":OUTP1 1"],
    "keysight-e36300": ["OUTP ON,(@1,2,3)"],
    "keysight-n6700": ["OUTP ON,(@1:4)"],
    "keysight-n6900": ["OUTP ON"],
    "rigol-dp800": [":OUTP CH1,ON", ":OUTP CH2,ON", ":OUTP CH3,ON"],
    "rs-hmp": ["INST:NSEL 1;:OUTP:SEL 1;:INST:NSEL 2;:OUTP:SEL 1", "OUTP:GEN 1"],
    "rs-ngm": ["INST:NSEL 1;:OUTP:SEL 1;:INST:NSEL 2;:OUTP:SEL 1", "OUTP:GEN ON"],
    "sim-load": ["INP 1"],
    "sim-supply": ["OUTP ON,(@1,2)"],
    "siglent-spd3303": ["OUTP CH1,ON", "OUTP CH2,ON"],
    "tdk-genesys": ["OUT ON"],
    "thermotron-3800": ["RUNM"],
    "tti-ld400p": ["INP 1"],
    "tti-pl": ["OPALL 1"],
    "tti-pl-single": ["OP1 1"],
}
"""By profile the commands of its model that switch every output on."""

ANSWERED = ("ipg-yar", "tdk-genesys")
"""Models that answer a command although it asks nothing."""


class Lab:
    """Counterparts in fresh copies, as PyVISA caches a bench by path, and what they executed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._copies = 0

    @property
    def witness_file(self) -> Path:
        return self._directory / "witness.jsonl"

    def output(self) -> dict[str, bool]:
        """Whether each output was on after the last message."""
        return dict(sim_instruments.read_witness(self.witness_file)[-1].output)

    @asynccontextmanager
    async def opened(
        self, name: str, model: str | None, edit: tuple[str, str] = ("", ""), **changes: Any
    ) -> AsyncIterator[OwnedInstrument]:
        """Open a profile's counterpart.

        Args:
            name: The profile's name.
            model: The profile that it is opened with; None: by its identity.
            edit: What is replaced in its description, and by what.
            changes: What is different in that profile.
        """
        counterpart = COUNTERPARTS[name]
        self._copies += 1
        copy = self._directory / f"{self._copies}.yaml"
        text = counterpart.file.read_text(encoding="utf-8")
        assert edit[0] in text
        copy.write_text(text.replace(*edit) if edit[0] else text, encoding="utf-8")
        profile: Profile | None = None
        if model is not None:
            profile = msgspec.structs.replace(shipped_profile(model), **changes)
        instrument = await open_instrument(
            InstrumentSpec(
                name="dut",
                resource=counterpart.resource,
                library=f"{copy}@sim",
                model=model,
                profile=profile,
            )
        )
        try:
            yield instrument
        finally:
            await instrument.close()


async def ask(instrument: OwnedInstrument, query: str) -> float:
    """Return the number that a query is answered with, latched or not."""
    reply = instrument.submit("ask", query.encode(), Priority.SAFETY, expect_reply=True)
    return float((await reply).decode())


async def switch_on(instrument: OwnedInstrument, name: str) -> None:
    for command in SWITCH_ON[name]:
        answered = name in ANSWERED
        await instrument.submit(
            "on", command.encode(), Priority.CONTROL, expect_reply=True if answered else None
        )
