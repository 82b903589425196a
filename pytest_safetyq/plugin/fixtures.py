"""The fixtures. What they give is imported when the first of them is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_safetyq.plugin import markers, options
from pytest_safetyq.plugin.state import runtime_of

if TYPE_CHECKING:
    from pytest_safetyq.bench import AsyncInstrument, Instrument, RemoteDispatcher, Safety
    from pytest_safetyq.plugin.runtime import Runtime

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here

H = TypeVar("H")

GUARD = "_safetyq_guard"
NAMES = frozenset(
    {"instrument", "async_instrument", "instruments", "async_instruments", "dispatcher", "safety"}
)


def _scope(fixture_name: str, config: pytest.Config) -> Any:
    return options.safe_state_scope(config)


@pytest.fixture(scope=_scope)
def _safetyq_guard(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """Send and confirm the safe state at the end of the scope, also after a pass.

    The plugin puts it first in every test that uses the bench, so that it is the last to be
    torn down; the E-stop of a failure has come long before.
    """
    runtime = runtime_of(request.config)
    runtime.make_ready()  # for a test that asked for a fixture of ours only as it ran
    with runtime.held():
        yield runtime
    runtime.end_of_scope(request.scope)


@pytest.fixture(scope=_scope)
def instrument(request: pytest.FixtureRequest, _safetyq_guard: Runtime) -> Instrument:
    """The selected instrument, for blocking calls."""
    return _safetyq_guard.instrument(_selected(request, _safetyq_guard))


@pytest.fixture(scope=_scope)
def async_instrument(request: pytest.FixtureRequest, _safetyq_guard: Runtime) -> AsyncInstrument:
    """The selected instrument, for ``await``, in any event loop."""
    return _safetyq_guard.async_instrument(_selected(request, _safetyq_guard))


@pytest.fixture(scope=_scope)
def instruments(_safetyq_guard: Runtime) -> Mapping[str, Instrument]:
    """The instruments of the bench by name; each is opened when it is first looked up."""
    return _Lookup(_safetyq_guard, _safetyq_guard.instrument)


@pytest.fixture(scope=_scope)
def async_instruments(_safetyq_guard: Runtime) -> Mapping[str, AsyncInstrument]:
    """The instruments of the bench by name, for ``await``."""
    return _Lookup(_safetyq_guard, _safetyq_guard.async_instrument)


@pytest.fixture(scope=_scope)
def dispatcher(request: pytest.FixtureRequest, _safetyq_guard: Runtime) -> RemoteDispatcher:
    """The dispatcher of the selected instrument."""
    return _safetyq_guard.dispatcher(_selected(request, _safetyq_guard))


@pytest.fixture(scope=_scope)
def safety(request: pytest.FixtureRequest, _safetyq_guard: Runtime) -> Safety:
    """The bench as a whole: its E-stop, its latch, and the evidence."""
    return _safetyq_guard.safety(_selected(request, _safetyq_guard))


class _Lookup(Mapping[str, H]):
    """Opens an instrument when it is first looked up."""

    def __init__(self, runtime: Runtime, open_handle: Callable[[str], H]) -> None:
        self._runtime = runtime
        self._open_handle = open_handle
        self._handles: dict[str, H] = {}

    def __getitem__(self, name: str) -> H:
        if name not in self._handles:
            self._handles[name] = self._open_handle(name)
        return self._handles[name]

    def __contains__(self, name: object) -> bool:
        return name in self._runtime.selection.specs

    def __iter__(self) -> Iterator[str]:
        return iter(self._runtime.selection.specs)

    def __len__(self) -> int:
        return len(self._runtime.selection.specs)


def _selected(request: pytest.FixtureRequest, runtime: Runtime) -> str:
    names = markers.instrument_names(request.node)
    return names[0] if names else runtime.selection.first
