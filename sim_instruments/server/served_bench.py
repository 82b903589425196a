"""The bench that is served: every instrument on every wire that was asked for."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sim_instruments.server.assembling import Served
from sim_instruments.wires.listener import Listener
from sim_instruments.wires.place import Place
from sim_instruments.wires.registry import WIRES


class ServedBench:
    """Instruments and their listeners.

    Args:
        served: the instruments.
        wires: name of each wire to its first port, 0 for any ports that are free.
    """

    def __init__(self, served: Sequence[Served], wires: Mapping[str, int]) -> None:
        self.places = {each.place.name: each.place for each in served}
        self._models = {each.place.name: each.model for each in served}
        self._wires = wires
        self._listeners: dict[str, list[Listener]] = {wire: [] for wire in wires}

    @property
    def has_clients(self) -> bool:
        """Whether somebody is connected; a serial line can't tell."""
        return any(place.has_clients for place in self.places.values())

    @property
    def used_s(self) -> float:
        """When the last message came, on any wire, in monotonic seconds."""
        return max((place.instrument.used_s for place in self.places.values()), default=0.0)

    async def start(self) -> None:
        """Open every listener.

        Raises:
            ValueError: in one line, what cannot be opened and why.
        """
        for wire, first_port in self._wires.items():
            for number, places in enumerate(self._shares(wire)):
                port = first_port + number if first_port else 0
                await self._start_one(wire, places, port)

    async def stop(self) -> None:
        """Close every listener, and every connection."""
        for listener in self._all_listeners():
            await listener.stop()
        for place in self.places.values():
            place.end()

    def announcement(self) -> dict[str, Any]:
        """Say where everything is: what the one line on the standard output is made of."""
        instruments: dict[str, Any] = {
            name: {"address": place.address, "model": self._models[name], "resources": {}}
            for name, place in self.places.items()
        }
        for wire, listeners in self._listeners.items():
            for listener in listeners:
                for name, resource in listener.resource_names.items():
                    instruments[name]["resources"][wire] = resource
        return {"instruments": instruments, "interfaces": self._interfaces()}

    def write_bench(self, path: Path) -> None:
        """Write a bench file for pytest-safetyq, with the first wire that can be in one.

        Raises:
            ValueError: no wire can be.
            OSError: the file cannot be written.
        """
        wires = [wire for wire in self._wires if wire not in self._interfaces()]
        if not wires:
            raise ValueError("a bench file cannot name a Prologix adapter: ask for another --wire")
        lines = ['visa: "@py"', "instruments:"]
        for name, instrument in self.announcement()["instruments"].items():
            lines.append(f"  {json.dumps(name)}:")
            lines.append(f"    resource: {json.dumps(instrument['resources'][wires[0]])}")
            if instrument["model"] is not None:
                lines.append(f"    model: {json.dumps(instrument['model'])}")
        _replace(path, "\n".join(lines) + "\n")

    def _shares(self, wire: str) -> list[list[Place]]:
        places = list(self.places.values())
        return [places] if WIRES[wire].is_shared else [[place] for place in places]

    async def _start_one(self, wire: str, places: list[Place], port: int) -> None:
        listener = WIRES[wire].listener()
        for place in places:
            place.wires.add(wire)
        try:
            await listener.start(places, port)
        except (OSError, OverflowError) as error:
            names = ", ".join(place.name for place in places)
            raise ValueError(f"{wire} for {names} at port {port}: {error}") from None
        self._listeners[wire].append(listener)

    def _interfaces(self) -> dict[str, str]:
        return {
            wire: listener.interface
            for wire, listeners in self._listeners.items()
            for listener in listeners
            if listener.interface is not None
        }

    def _all_listeners(self) -> Iterator[Listener]:
        for listeners in self._listeners.values():
            yield from listeners


def _replace(path: Path, text: str) -> None:
    """Write a file so that nobody ever reads half of it."""
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(unfinished, path)
