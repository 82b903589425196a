"""The profiles that ship with the package, as data beside `bench.profiles`."""

import functools
from importlib import resources
from importlib.resources.abc import Traversable

from pytest_safetyq.bench.config.document import parse_text
from pytest_safetyq.bench.config.errors import quoted, suggestion
from pytest_safetyq.bench.config.model import Profile
from pytest_safetyq.bench.config.place import root_place
from pytest_safetyq.bench.config.read import read

_SUFFIX = ".yaml"


def profile_names() -> list[str]:
    """Return the names of the shipped profiles, sorted."""
    return sorted(
        entry.name.removesuffix(_SUFFIX)
        for entry in _folder().iterdir()
        if entry.name.endswith(_SUFFIX)
    )


@functools.cache
def shipped_profile(name: str) -> Profile:
    """Return the shipped profile of this name.

    Raises:
        LookupError: There is none; the message names the closest, or all.
        BenchFileError: Its file is damaged.
    """
    names = profile_names()
    if name not in names:
        raise LookupError(f"no profile {quoted(name)} ships; {suggestion(name, names)}")
    file = _folder() / (name + _SUFFIX)
    root = parse_text(file.read_text(encoding="utf-8"), file.name)
    profile: Profile = read(root_place(root, file.name), Profile)
    return profile


def _folder() -> Traversable:
    # Named as a folder, not as a package: `bench.profiles` imports this module.
    return resources.files("pytest_safetyq").joinpath("bench", "profiles")
