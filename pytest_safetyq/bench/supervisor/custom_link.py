"""A link of the user's own: made by a factory that the bench file names."""

import importlib
import sys
from collections.abc import Callable
from typing import Any

from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.errors import SafetyError
from pytest_safetyq.links import InstrumentLink
from pytest_safetyq.links.visa_session import one_line


def custom_link(spec: InstrumentSpec, **settings: bytes | None) -> InstrumentLink:
    """Return what the factory gives that ``spec.link`` names.

    Args:
        spec: The instrument.
        settings: ``write_terminator``, ``read_terminator`` and ``identity_query``, for the
            factory to keep to.

    Raises:
        SafetyError: There is no such factory, or it gives no link.
    """
    assert spec.link is not None
    where = f"{spec.name}: link {spec.link!r}"
    factory = _factory(spec.link, spec.folder, where)
    try:
        link = factory(spec.resource, **settings)
    except Exception as error:
        # It is the user's code, and may raise what it likes.
        raise SafetyError(f"{where}: {type(error).__name__}: {one_line(error)}") from error
    if not isinstance(link, InstrumentLink):
        raise SafetyError(
            f"{where} gave an {type(link).__name__}, which is no link; it must have what"
            " pytest_safetyq.links.InstrumentLink has"
        )
    return link


def _factory(name: str, folder: str | None, where: str) -> Callable[..., Any]:
    module_name, _, attribute = name.partition(":")
    if folder is not None and folder not in sys.path:
        sys.path.append(folder)  # last: a module of the user's must not hide an installed one
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        # What is wrong in a module comes out of its import.
        raise SafetyError(f"{where} can't be imported: {one_line(error)}") from error
    try:
        factory = getattr(module, attribute)
    except AttributeError:
        raise SafetyError(f"{where}: {module_name} has no {attribute!r}") from None
    if not callable(factory):
        raise SafetyError(f"{where} is no callable; name a function that returns a link")
    return factory  # type: ignore[no-any-return]  # callable() narrows it to object
