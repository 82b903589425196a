"""Which instruments a run is about, from what the user has named."""

import importlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from pyvisa import rname

from pytest_safetyq.bench.client.bench import Bench
from pytest_safetyq.bench.config import (
    BenchConfig,
    Profile,
    load_bench,
    load_profile,
)
from pytest_safetyq.bench.profiles import shipped_profile
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.errors import SafetyError

DEFAULT_BENCH = Path(__file__).with_name("default-bench.yaml")
SIMULATION = "@sim"

_INTERFACE = re.compile(r"^(asrl|gpib|prlgx-tcpip|prlgx-asrl|pxi|tcpip|usb|vxi)", re.IGNORECASE)
_NAMED = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_-]*)=(?P<resource>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the user has named.

    Attributes:
        instruments: ``[NAME=]RESOURCE`` or names in the bench file; empty: none was named.
        bench: The bench file, or None.
        visa: The VISA library that was asked for on the command line, or None; it wins over
            the bench file.
        default_visa: The VISA library of the environment or the ini file, or None; the bench
            file wins over it.
        model: The profile of instruments for which none is known otherwise, or None.
    """

    instruments: Sequence[str] = ()
    bench: Path | None = None
    visa: str | None = None
    default_visa: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The instruments of a run.

    Attributes:
        specs: All that can be used, by name; the selected ones first.
        named: Names of those that the user named; they must be there.
    """

    specs: dict[str, InstrumentSpec]
    named: tuple[str, ...]

    @property
    def first(self) -> str:
        """The name of the instrument that a test gets which doesn't say which."""
        return next(iter(self.specs))


class SelectionError(SafetyError):
    """What the user has named can't be: one line that says what would be right."""


def select(wish: Wish) -> Selection:
    """Return the instruments that ``wish`` is about.

    Raises:
        SelectionError: Something that was named is not to be found or not to be understood.
        BenchFileError: There is a mistake in the bench file.
    """
    _wished_profile(wish)  # a wrong one is a mistake also where nothing of the bench needs it
    bench = _bench(wish)
    specs = {} if bench is None else _specs_of(bench, wish)
    library = wish.visa or (bench.visa if bench else None) or wish.default_visa or ""
    named = [_named(text, specs, wish, library) for text in wish.instruments]
    _refuse_twice([spec.name for spec in named], "give each its own NAME=")
    _refuse_twice([spec.resource for spec in named], "give each instrument one name")
    chosen = {spec.name: spec for spec in named}
    resources = {(spec.resource, spec.library) for spec in named}
    others = {
        name: spec
        for name, spec in specs.items()
        if name not in chosen and (spec.resource, spec.library) not in resources
    }
    return Selection({**chosen, **others}, (*chosen,))


def _refuse_twice(texts: list[str], remedy: str) -> None:
    for text in texts:
        if texts.count(text) > 1:
            raise SelectionError(f"--instrument: {text!r} is named twice; {remedy}")


def _bench(wish: Wish) -> BenchConfig | None:
    """Return the bench file's content; without one, the simulated bench where it is meant."""
    if wish.bench is not None:
        return load_bench(wish.bench, _canonical)
    simulated = (wish.visa or wish.default_visa) == SIMULATION
    if not wish.instruments or simulated:
        return load_bench(DEFAULT_BENCH)
    return None


def _specs_of(bench: BenchConfig, wish: Wish) -> dict[str, InstrumentSpec]:
    return {
        name: InstrumentSpec(
            name=name,
            resource=_canonical(config.resource),
            library=library_path(wish.visa or config.visa or bench.visa or wish.default_visa or ""),
            model=config.model,
            profile=config.profile,
            timeout_s=config.timeout_s,
            limits=dict(config.limits),
            serial=config.serial,
            link=config.link,
            folder=None if wish.bench is None else str(wish.bench.absolute().parent),
        )
        for name, config in bench.instruments.items()
    }


def _named(text: str, specs: dict[str, InstrumentSpec], wish: Wish, library: str) -> InstrumentSpec:
    """Return the instrument that one ``--instrument`` names.

    Args:
        text: ``[NAME=]RESOURCE``, or a name.
        specs: The instruments of the bench.
        wish: What the user has named besides.
        library: The VISA library of an instrument that the bench doesn't have.
    """
    if text in specs:
        return specs[text]
    match = _NAMED.fullmatch(text)
    name, resource = (match["name"], match["resource"]) if match else (None, text)
    if not resource.strip():
        raise SelectionError(
            f"--instrument {text!r} names no resource; write [NAME=]RESOURCE, such as GPIB0::5"
        )
    try:
        resource = _canonical(resource)
    except ValueError as error:
        raise SelectionError(
            f"--instrument {text}: {resource!r} is no resource name ({error});"
            f" {_what_there_is(resource, specs, library)}"
        ) from error
    if name is not None and name in specs:
        return msgspec.structs.replace(specs[name], resource=resource)
    model, profile = _wished_profile(wish)
    for known in specs.values():
        if known.resource == resource:
            spec = known if name is None else msgspec.structs.replace(known, name=name)
            if wish.model is not None:
                spec = msgspec.structs.replace(spec, model=model, profile=profile)
            return spec
    return InstrumentSpec(
        name=name or resource,
        resource=resource,
        library=library_path(library),
        model=model,
        profile=profile,
    )


def _wished_profile(wish: Wish) -> tuple[str | None, Profile | None]:
    if wish.model is None:
        return None, None
    if wish.model.endswith((".yaml", ".yml")):
        return wish.model, load_profile(wish.model)
    try:
        return wish.model, shipped_profile(wish.model)
    except LookupError as error:
        raise SelectionError(f"--safetyq-model: {error.args[0]}") from error


def _canonical(resource: str) -> str:
    """Return a resource name as VISA writes it in full.

    Raises:
        ValueError: It is none; the message says why on one line.
    """
    try:
        return str(rname.to_canonical_name(_upper(resource.strip())))
    except rname.InvalidResourceName as error:
        raise ValueError(" ".join(str(error).split())) from error


def _what_there_is(text: str, specs: dict[str, InstrumentSpec], library: str) -> str:
    """Return what could have been named in place of ``text``."""
    form = "write a VISA resource name, such as GPIB0::5::INSTR"
    if specs:
        return f"{form}, or one of the bench: {', '.join(specs)}"
    if "::" in text:
        return form
    simulated = ", ".join(load_bench(DEFAULT_BENCH).instruments)
    return (
        f"there are names in a bench file only, and none is given; {form}; found:"
        f" {_found(library)} (with {SIMULATION} there are {simulated})"
    )


def _found(library: str) -> str:
    """Return the resource names that the VISA library finds, or why it finds none."""
    try:
        bench = Bench(f"safetyq, looking for instruments (process {os.getpid()})")
        try:
            return ", ".join(bench.resources(library_path(library))) or "none"
        finally:
            bench.close()
    except SafetyError as error:
        return f"none ({error})"


def _upper(resource: str) -> str:
    """Return ``resource`` with its interface and class in capitals, as PyVISA wants them.

    What is between them stays: the path of a serial port is a path.
    """
    *rest, last = resource.split("::")
    if last.upper() in ("INSTR", "SOCKET", "INTFC", "RAW"):
        resource = "::".join([*rest, last.upper()])
    return _INTERFACE.sub(lambda match: match[0].upper(), resource)


def library_path(library: str) -> str:
    """Return a VISA library, with the shipped simulated bench behind a bare ``@sim``.

    Raises:
        SelectionError: A simulation's file isn't there.
    """
    if library == SIMULATION:
        return f"{importlib.import_module('sim_instruments').BENCH_YAML}{SIMULATION}"
    if library.endswith(SIMULATION):
        file = Path(library.removesuffix(SIMULATION)).absolute()
        if not file.is_file():
            raise SelectionError(
                f"VISA library {library!r}: there is no file {file}; write FILE.yaml@sim, or @sim"
            )
        return f"{file}{SIMULATION}"
    return library
