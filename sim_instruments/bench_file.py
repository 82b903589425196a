"""Reading a bench file strictly: what pyvisa-sim would overlook or report in a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pyvisa.rname import InvalidResourceName, to_canonical_name

from sim_instruments.model.description import describe
from sim_instruments.model.instrument import Instrument


def resources(path: str | Path) -> list[str]:
    """See `sim_instruments.resources`."""
    data = _read(path, _StrictLoader)
    try:
        if "spec" not in data:
            raise ValueError("it does not say which 'spec' of pyvisa-sim's format it follows")
        devices = _mapping(data, "devices")
        for name, device in devices.items():
            build_if_ours(name, device)
        return _resource_names(_mapping(data, "resources"), devices)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def has_our_devices(path: str | Path) -> bool:
    """Whether a device of the file has a `scpi` key.

    Keys that appear twice are let pass here, as pyvisa-sim does in a file without our devices.

    Raises:
        ValueError: it is not a YAML mapping.
        OSError: the file cannot be read.
    """
    devices = _read(path, _Loader).get("devices")
    return isinstance(devices, dict) and any(map(is_ours, devices.values()))


def is_ours(device: object) -> bool:
    """Whether a device of a bench file is described for us rather than for pyvisa-sim."""
    return isinstance(device, dict) and "scpi" in device


def build_if_ours(name: str, device: object) -> Instrument | None:
    """Build the instrument that a device's mapping describes, `None` when it is not ours.

    Raises:
        ValueError: in one line, what is wrong with the description.
    """
    if not (isinstance(device, dict) and is_ours(device)):
        return None
    try:
        return Instrument(describe(device))
    except ValueError as error:
        raise ValueError(f"device {name!r}: {error}") from None


# Scalars stay strings, as pyvisa-sim loads them. The C parser takes a sixth of the time, but PyYAML
# can be built without it.
_Loader: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class _StrictLoader(_Loader):  # type: ignore[misc, valid-type] # chosen when it is imported
    """Refuses a key that appears twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[str] = set()
        for key, _value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in keys:
                problem = f"key {key.value!r} appears twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            keys.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def _read(path: str | Path, loader: type[yaml.BaseLoader]) -> dict[str, Any]:
    with Path(path).open(encoding="utf-8") as stream:
        try:
            data = yaml.load(stream, Loader=loader)
        except yaml.YAMLError as error:
            raise ValueError(" ".join(str(error).split())) from None
    if not isinstance(data, dict):
        raise ValueError(f"{path}: not a YAML mapping")
    return data


def _mapping(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    if not isinstance(value, dict):
        raise ValueError(f"{key!r} must be a mapping")
    return value


def _resource_names(entries: dict[str, Any], devices: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for written, entry in entries.items():
        try:
            name = to_canonical_name(written)
        except InvalidResourceName:
            raise ValueError(f"{written!r} is not a resource name") from None
        if name in names:
            raise ValueError(f"two devices on the address {name}")
        _check_device(written, entry, devices)
        names.append(name)
    return names


def _check_device(resource: str, entry: object, devices: dict[str, Any]) -> None:
    if not isinstance(entry, dict) or "device" not in entry:
        raise ValueError(f"resource {resource!r} has no 'device'")
    # A device may come from another file, which pyvisa-sim looks up.
    if "filename" not in entry and entry["device"] not in devices:
        known = ", ".join(devices)
        raise ValueError(f"resource {resource!r}: unknown device {entry['device']!r} ({known})")
