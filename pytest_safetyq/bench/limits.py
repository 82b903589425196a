"""Set-points held against the limits of the bench file, before anything is sent."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_safetyq.bench.config.model import Limit
from pytest_safetyq.bench.numeric import parse_number, unit_of
from pytest_safetyq.bench.scpi import Unit, split_units
from pytest_safetyq.bench.setpoints import SetpointPattern
from pytest_safetyq.errors import LimitExceeded, SafetyError

_CACHED_PAYLOADS = 1024
_CACHED_BYTES = 256
_SHOWN_CHARACTERS = 60


class UncheckedLimitError(SafetyError):
    """A limit was given that no command can be held against: it would check nothing."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """One limit: the commands that set the quantity, and the range they may set."""

    key: str
    low: float
    high: float
    setpoints: tuple[SetpointPattern, ...]

    @property
    def unit(self) -> str:
        return unit_of(self.key)

    def __str__(self) -> str:
        return f"limits.{self.key} allows {self.low:g} to {self.high:g} {self.unit}".rstrip()


class Limits:
    """The limits of one instrument.

    Values that cannot be known before they are sent are refused: ``MAX``, ``DEF``, ``UP``,
    ``DOWN``, and ``MIN`` as well, which on a bipolar source is its full negative scale.
    What an instrument sets by itself is not seen: a recalled state (``*RCL``), a macro, a
    script.
    """

    def __init__(self, rules: tuple[_Rule, ...] = ()) -> None:
        self._rules = rules
        # What passed once passes again; an exception is never kept.
        self._check_seldom = functools.lru_cache(_CACHED_PAYLOADS)(self._check)

    @classmethod
    def from_config(
        cls,
        limits: Mapping[str, Limit],
        setpoints: Mapping[str, tuple[str, ...]],
        *,
        profile: str = "of the bench file",
    ) -> "Limits":
        """Return the limits of an instrument of the bench file.

        Args:
            limits: Per limit key the range, in the unit that the key ends with.
            setpoints: The profile's commands per limit key.
            profile: The profile's name, for the message.

        Raises:
            UncheckedLimitError: The profile does not say which commands set the quantity.
            ValueError: A set-point is not in SCPI notation.
        """
        rules = []
        for key, limit in limits.items():
            if not setpoints.get(key):
                raise UncheckedLimitError(
                    f'limits.{key}: the profile "{profile}" does not say which commands set it'
                )
            low, high = limit if isinstance(limit, tuple) else (-limit, limit)
            patterns = tuple(SetpointPattern(notation) for notation in setpoints[key])
            rules.append(_Rule(key, low, high, patterns))
        return cls(tuple(rules))

    def __bool__(self) -> bool:
        """Whether there is any limit."""
        return bool(self._rules)

    def check(self, payload: bytes) -> None:
        """Return if every set-point in ``payload`` is within its limits.

        Raises:
            LimitExceeded: One is not, or its value cannot be known; the message is one line
                with the command, the value, its unit and the limit.
        """
        if not self._rules:
            return
        if len(payload) > _CACHED_BYTES:
            self._check(payload)
        else:
            self._check_seldom(payload)

    def _check(self, payload: bytes) -> None:
        for unit in split_units(payload):
            for rule in self._rules:
                for setpoint in rule.setpoints:
                    for text in setpoint.values(unit):
                        _check_value(text, unit, rule)


def _check_value(text: str, unit: Unit, rule: _Rule) -> None:
    value = parse_number(text, rule.unit)
    command = _shown(unit.text)
    if value is None:
        raise LimitExceeded(
            f"{command}: {_shown(text)} is not a number that can be checked, and {rule}; "
            "nothing was sent"
        )
    if not rule.low <= value <= rule.high:
        shown = f"{value:g} {rule.unit}".rstrip()
        raise LimitExceeded(f"{command}: {shown} is not allowed, {rule}; nothing was sent")


def _shown(text: str) -> str:
    """Return ``text`` in quotes, on one line and cut to a length that fits there."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    if len(printable) > _SHOWN_CHARACTERS:
        printable = printable[: _SHOWN_CHARACTERS - 3] + "..."
    return f'"{printable}"'
