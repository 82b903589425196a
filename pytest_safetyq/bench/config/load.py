"""Bench files and profile files read from disk, and what only the whole file can tell."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from pytest_safetyq.bench.config.document import parse_file
from pytest_safetyq.bench.config.errors import quoted
from pytest_safetyq.bench.config.model import BenchConfig, InstrumentConfig, Limit, Profile
from pytest_safetyq.bench.config.place import Place, root_place
from pytest_safetyq.bench.config.read import read
from pytest_safetyq.bench.config.resource import same_resource_key
from pytest_safetyq.bench.config.shipped import shipped_profile


def load_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile in the YAML file at ``path``.

    Raises:
        BenchFileError: The file cannot be read, or something in it is not right.
    """
    file = Path(path)
    profile: Profile = read(root_place(parse_file(file), str(file)), Profile)
    return profile


def load_bench(
    path: str | os.PathLike[str], check_resource: Callable[[str], object] | None = None
) -> BenchConfig:
    """Return the bench of the YAML file at ``path``.

    Every ``model`` is looked up and put in ``profile``; an instrument with neither keeps
    ``None`` there, and its profile is chosen when it is opened.

    Args:
        path: The bench file. The paths of profile files in it are relative to its folder.
        check_resource: Raises ``ValueError`` for what is no resource name: the parser is
            PyVISA's, which a bench file alone doesn't need.

    Raises:
        BenchFileError: The file, or a profile file that it names, cannot be read, or
            something in it is not right.
    """
    file = Path(path)
    root = root_place(parse_file(file), str(file))
    bench: BenchConfig = read(root, BenchConfig)
    places = root.entries()["instruments"].entries()
    if check_resource is not None:
        _check_resources(bench, places, check_resource)
    _refuse_same_resource(bench, places)
    return msgspec.structs.replace(
        bench,
        instruments={
            name: _completed(instrument, places[name])
            for name, instrument in bench.instruments.items()
        },
    )


def _check_resources(
    bench: BenchConfig, places: dict[str, Place], check: Callable[[str], object]
) -> None:
    for name, instrument in bench.instruments.items():
        try:
            check(instrument.resource)
        except ValueError as error:
            place = places[name].entries()["resource"]
            raise place.error(
                f"{quoted(instrument.resource)} is no resource name ({error})",
                "write a VISA resource name, such as GPIB0::5::INSTR",
            ) from error


def _refuse_same_resource(bench: BenchConfig, places: dict[str, Place]) -> None:
    """One instrument under two names would have two owners, and two safe states."""
    first: dict[tuple[str, str], str] = {}
    for name, instrument in bench.instruments.items():
        visa = instrument.visa or bench.visa or ""
        # Simulated benches are worlds of their own; real libraries reach the same hardware.
        key = (same_resource_key(instrument.resource), visa if visa.endswith("@sim") else "")
        if key in first:
            raise (
                places[name]
                .entries()["resource"]
                .error(
                    f"{quoted(instrument.resource)} is already instruments.{first[key]}",
                    "give each instrument one name",
                )
            )
        first[key] = name


def _completed(instrument: InstrumentConfig, place: Place) -> InstrumentConfig:
    """Return the instrument with its profile looked up, and its limits held against it."""
    entries = place.entries()
    if instrument.model is not None and instrument.profile is not None:
        raise entries["profile"].error('"model" and "profile" together', "leave one of the two out")
    if "limits" in entries:
        _check_ranges(instrument.limits, entries["limits"])
    if instrument.model is not None:
        profile = _profile_of(instrument.model, entries["model"])
        instrument = msgspec.structs.replace(instrument, profile=profile)
    if instrument.profile is not None and "limits" in entries:
        _check_setpoints(instrument, instrument.profile, entries["limits"])
    return instrument


def _profile_of(model: str, place: Place) -> Profile:
    if not model.endswith((".yaml", ".yml")):
        try:
            return shipped_profile(model)
        except LookupError as error:
            problem, _, remedy = str(error.args[0]).partition("; ")
            raise place.error(problem, f"{remedy} (your own: a path ending in .yaml)") from error
    path = Path(place.file).parent / model
    if not path.is_file():
        raise place.error(
            f"there is no file {quoted(model)}",
            "write a shipped profile's name, or a path relative to this file",
        )
    return load_profile(path)


def _check_ranges(limits: dict[str, Limit], place: Place) -> None:
    for key, limit in limits.items():
        if isinstance(limit, tuple) and limit[0] > limit[1]:
            raise place.entries()[key].error(
                f"{limit[0]:g} is above {limit[1]:g}", "write [low, high]"
            )


def _check_setpoints(instrument: InstrumentConfig, profile: Profile, place: Place) -> None:
    """A limit that no command is held against would be a lie."""
    named = f"profile {quoted(instrument.model)}" if instrument.model else "inline profile"
    for key in instrument.limits:
        if not profile.setpoints.get(key):
            raise place.entries()[key].error(
                f"the {named} does not say which commands set it",
                f"write a profile whose setpoints name the commands of {key}",
            )
