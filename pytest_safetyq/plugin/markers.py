"""The markers: their right forms, and what is said when one has another."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

_LATENCY_FORM = (
    "@pytest.mark.safety_latency(max_ms=None, percentile=100, min_samples=1, within_bound=True,"
    " slack_ms=5.0, instrument=None)"
)
_INSTRUMENT_FORM = '@pytest.mark.instrument("name", ...)'

LINES = (
    "safety_latency(max_ms=None, percentile=100, min_samples=1, within_bound=True, slack_ms=5.0,"
    " instrument=None): after the test every safety dispatch made in it is held against max_ms"
    " and against its own bound",
    "instrument(name, ...): the instruments that the test uses",
    "hardware: skipped where the selected instruments are simulated",
    "simulated: skipped where the selected instruments are real",
)


class SafetyLatency(NamedTuple):  # a dataclass takes a millisecond to make, in every run
    """The arguments of ``safety_latency``.

    Attributes:
        max_ms: The longest dispatch latency allowed at ``percentile``, in ms; None: any.
        percentile: The percentile that is held against ``max_ms``, more than 0, at most 100.
        min_samples: How many dispatches there must be.
        within_bound: Whether each is held against its own bound too.
        slack_ms: What is added to the bound: process scheduling, not queueing.
        instrument: The instrument whose dispatches count; None: all.
    """

    max_ms: float | None = None
    percentile: float = 100
    min_samples: int = 1
    within_bound: bool = True
    slack_ms: float = 5.0
    instrument: str | None = None


def latency_marks(item: pytest.Item) -> list[SafetyLatency]:
    """Return what the ``safety_latency`` markers of ``item`` say.

    Raises:
        pytest.UsageError: One has not the right form.
    """
    return [_latency(item, mark) for mark in item.iter_markers("safety_latency")]


def instrument_names(node: pytest.Collector | pytest.Item) -> list[str]:
    """Return the names in the closest ``instrument`` marker of a test or a module.

    Raises:
        pytest.UsageError: It has not the right form.
    """
    mark = node.get_closest_marker("instrument")
    if mark is None:
        return []
    names = [name for name in mark.args if isinstance(name, str)]
    if mark.kwargs or not mark.args or len(names) < len(mark.args):
        raise _wrong(node, f"the marker instrument{_shown(mark)} has no name", _INSTRUMENT_FORM)
    return names


def check_plain(item: pytest.Item) -> None:
    """Raise `pytest.UsageError` if ``hardware`` or ``simulated`` is given arguments."""
    for name in ("hardware", "simulated"):
        for mark in item.iter_markers(name):
            if mark.args or mark.kwargs:
                shown = f"the marker {name}{_shown(mark)} takes no arguments"
                raise _wrong(item, shown, f"@pytest.mark.{name}")


def _latency(item: pytest.Item, mark: pytest.Mark) -> SafetyLatency:
    try:
        given = SafetyLatency(*mark.args, **mark.kwargs)
    except TypeError as error:
        reason = str(error).replace("SafetyLatency.__new__() ", "")
        raise _wrong(
            item, f"the marker safety_latency{_shown(mark)}: {reason}", _LATENCY_FORM
        ) from None
    for name, right, what in _RULES:
        value = getattr(given, name)
        if not right(value):
            shown = f"the marker safety_latency: {name}={value!r} is not {what}"
            raise _wrong(item, shown, _LATENCY_FORM)
    return given


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return not math.isnan(value)


_RULES: Iterable[tuple[str, Callable[[Any], bool], str]] = (
    (
        "max_ms",
        lambda v: v is None or (_is_number(v) and v > 0),
        "a positive number of ms, or None",
    ),
    ("percentile", lambda v: _is_number(v) and 0 < v <= 100, "more than 0 and at most 100"),
    (
        "min_samples",
        lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 1,
        "a whole number of 1 or more",
    ),
    ("within_bound", lambda v: isinstance(v, bool), "True or False"),
    ("slack_ms", lambda v: _is_number(v) and 0 <= v < float("inf"), "a number of ms, 0 or more"),
    ("instrument", lambda v: v is None or isinstance(v, str), "the name of an instrument, or None"),
)


def _wrong(node: pytest.Collector | pytest.Item, what: str, form: str) -> pytest.UsageError:
    return pytest.UsageError(f"{where(node)}: {what}; write {form}")


def where(node: pytest.Collector | pytest.Item) -> str:
    """Return file, line and name of a test; of a module its path."""
    if not isinstance(node, pytest.Item):
        return node.nodeid
    path, line, name = node.location
    return f"{path}:{(line or 0) + 1}: {name}"


def _shown(mark: pytest.Mark) -> str:
    arguments = [repr(a) for a in mark.args] + [f"{k}={v!r}" for k, v in mark.kwargs.items()]
    return f"({', '.join(arguments)})"
