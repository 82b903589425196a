"""Bench files in, instruments out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pyvisa.rname import to_canonical_name

from sim_instruments import bench_file
from sim_instruments.device import Device
from sim_instruments.faults import FaultPlan
from sim_instruments.port import Terminators
from sim_instruments.shared import SharedInstrument
from sim_instruments.wires.place import Place
from sim_instruments.witness import Witness

# The parser in C is ten times as fast; it is there unless PyYAML was built without libyaml.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(frozen=True, slots=True)
class Served:
    """An instrument that is to be served.

    Attributes:
        place: the instrument on the wires.
        model: the name of its profile in pytest-safetyq, `None` when the bench file does not say.
    """

    place: Place
    model: str | None


@dataclass(frozen=True, slots=True)
class _Entry:
    """One resource of a bench file: its device's name and mapping, and its own."""

    address: str
    device: str
    described: dict[str, Any]
    resource: dict[str, Any]


def assemble(files: Sequence[Path], witness: Witness, seed: int) -> list[Served]:
    """Build every instrument of some bench files.

    An instrument is called as its device, with a number where several resources have that device.

    Args:
        files: bench files in pyvisa-sim's format.
        witness: who writes down what they execute.
        seed: where chance begins.

    Raises:
        ValueError: in one line, what is wrong with a file and where.
        OSError: a file cannot be read.
    """
    entries: dict[str, tuple[Path, _Entry]] = {}
    for path in files:
        for entry in _entries(path):
            if entry.address in entries:
                other = entries[entry.address][0]
                raise ValueError(f"{path}: the address {entry.address} is in {other} too")
            entries[entry.address] = path, entry
    if not entries:
        raise ValueError(f"{', '.join(map(str, files))}: no 'resources' to serve")
    names = _names([entry.device for _, entry in entries.values()])
    return [
        _built(path, entry, name, witness, seed)
        for (path, entry), name in zip(entries.values(), names, strict=True)
    ]


def _entries(path: Path) -> Iterator[_Entry]:
    bench_file.resources(path)
    data = _read(path)
    for written, resource in data["resources"].items():
        device = resource["device"]
        devices = _read(_file_of(resource, path))["devices"] if "filename" in resource else None
        described = (devices or data["devices"]).get(device)
        if described is None:
            raise ValueError(f"{path}: {resource['filename']} has no device {device!r}")
        yield _Entry(to_canonical_name(written), device, described, resource)


def _file_of(resource: dict[str, Any], path: Path) -> Path:
    import pyvisa_sim  # noqa: PLC0415 - a third of the time that the server takes to start

    is_bundled = resource.get("bundled", "").lower() == "true"
    folder = Path(pyvisa_sim.__file__).parent if is_bundled else path.parent
    return folder / str(resource["filename"])


def _read(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        data: dict[str, Any] = yaml.load(stream, Loader=_LOADER)
    return data


def _names(devices: Sequence[str]) -> list[str]:
    many = {device for device, count in Counter(devices).items() if count > 1}
    taken = set(devices) - many
    numbers: Counter[str] = Counter()
    names = []
    for device in devices:
        name = device
        while device in many and (name == device or name in taken):
            numbers[device] += 1
            name = f"{device}-{numbers[device]}"
        taken.add(name)
        names.append(name)
    return names


def _built(path: Path, entry: _Entry, name: str, witness: Witness, seed: int) -> Served:
    try:
        device = _device(entry)
        terminators = _terminators(entry)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    shared = SharedInstrument(device, name, witness=witness)
    faults = FaultPlan(random.Random(f"{seed} {name}"))
    place = Place(name, entry.address, shared, terminators, faults)
    return Served(place, entry.described.get("model"))


def _terminators(entry: _Entry) -> dict[str, Terminators]:
    terminators = {}
    for interface, eom in entry.described.get("eom", {}).items():
        if not eom["q"]:
            raise ValueError(f"device {entry.device!r}: the q of eom {interface!r} is empty")
        terminators[interface] = Terminators(eom["q"].encode(), eom.get("r", "").encode())
    return terminators


def _device(entry: _Entry) -> Device:
    instrument = bench_file.build_if_ours(entry.device, entry.described)
    if instrument is not None:
        return instrument
    from sim_instruments.pyvisa_sim_adapter import PlainDevice  # noqa: PLC0415 - as above

    return PlainDevice(entry.device, entry.described, entry.resource, entry.address)
