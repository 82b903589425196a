"""What the collected tests ask for: checked before the first of them runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_safetyq.plugin import fixtures, markers, options
from pytest_safetyq.plugin.state import runtime_of

if TYPE_CHECKING:
    from pytest_safetyq.plugin.runtime import Runtime

PROBLEM: pytest.StashKey[str] = pytest.StashKey()
"""Of a test in a worker of xdist: what is wrong with its markers."""

_SELECTED = fixtures.NAMES - {"instruments", "async_instruments"}
_MARKERS = ("instrument", "safety_latency", "hardware", "simulated")


def uses_bench(item: pytest.Item) -> bool:
    """Whether a test asks for one of the fixtures."""
    return not fixtures.NAMES.isdisjoint(getattr(item, "fixturenames", ()))


def prepare(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Check the markers, put the guard first, and skip what isn't for this bench.

    Raises:
        pytest.UsageError: A marker has not the right form, or names an unknown instrument;
            in a worker of xdist `PROBLEM` is left with the test instead.
    """
    for item in items:
        used = uses_bench(item)
        if used:
            names = item.fixturenames  # type: ignore[attr-defined]  # only functions have it
            if fixtures.GUARD not in names:
                names.insert(0, fixtures.GUARD)
        if used or any(item.get_closest_marker(name) for name in _MARKERS):
            try:
                _check(item, runtime_of(config))
            except pytest.UsageError as error:
                if not hasattr(config, "workerinput"):
                    raise
                # In a worker of xdist it would be an internal error; so the test says it.
                item.stash[PROBLEM] = str(error)


def _check(item: pytest.Item, runtime: Runtime) -> None:
    markers.check_plain(item)
    specs = runtime.selection.specs
    for mark in markers.latency_marks(item):
        if mark.instrument is not None:
            _require_known(item, mark.instrument, list(specs))
    names = markers.instrument_names(item)
    for name in names:
        _require_known(item, name, list(specs))
    _require_selectable(item, names)
    simulated = [specs[name].simulated for name in names or [runtime.selection.first]]
    if item.get_closest_marker("hardware") and any(simulated):
        item.add_marker(pytest.mark.skip(reason="needs hardware, and the instrument is simulated"))
    if item.get_closest_marker("simulated") and not all(simulated):
        item.add_marker(pytest.mark.skip(reason="needs a simulation, and the instrument is real"))


def _require_selectable(item: pytest.Item, names: list[str]) -> None:
    """Refuse a marker that would be ignored: in a wider scope many tests share one handle."""
    scope = options.safe_state_scope(item.config)
    if not names or scope == "function" or _SELECTED.isdisjoint(getattr(item, "fixturenames", ())):
        return
    module = item.getparent(pytest.Module) if scope == "module" else None
    if module is None or markers.instrument_names(module) != names:
        place = "on the module (pytestmark)" if scope == "module" else "nowhere in this scope"
        raise pytest.UsageError(
            f"{markers.where(item)}: with safetyq_scope = {scope} the marker instrument can stand"
            f' {place}; in a test write instruments["{names[0]}"]'
        )


def _require_known(item: pytest.Item, name: str, known: list[str]) -> None:
    if name not in known:
        raise pytest.UsageError(
            f"{markers.where(item)}: the bench has no instrument {name!r};"
            f" it has {', '.join(known)}"
        )
