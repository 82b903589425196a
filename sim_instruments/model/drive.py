"""What an instrument does to its terminals, and what stands there as a result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What stands at the terminals.

    Attributes:
        voltage_v: voltage across the terminals.
        current_a: current out of a source, or into an electronic load.
        limited: whether the compliance limit decides instead of the set-point.
    """

    voltage_v: float
    current_a: float
    limited: bool = False


@dataclass(frozen=True, slots=True)
class Open:
    """Nothing is driven: no current flows."""


@dataclass(frozen=True, slots=True)
class VoltageSource:
    """A voltage source at `level_v` that gives or takes no more than `limit_a`."""

    level_v: float
    limit_a: float


@dataclass(frozen=True, slots=True)
class CurrentSource:
    """A current source at `level_a` that goes no further than `limit_v`, of either polarity."""

    level_a: float
    limit_v: float


@dataclass(frozen=True, slots=True)
class CurrentSink:
    """An electronic load at `level_a`: it takes what there is, down to 0 V."""

    level_a: float


Drive = Open | VoltageSource | CurrentSource | CurrentSink


@dataclass(frozen=True, slots=True)
class Fall:
    """A source that was switched off and whose voltage falls to 0 V in a straight line.

    Attributes:
        from_v: voltage at the terminals when it was switched off.
        time_s: how long the fall takes, above 0.
        limit_a: the most current it gives or takes meanwhile.
    """

    from_v: float
    time_s: float
    limit_a: float

    def source(self, elapsed_s: float) -> VoltageSource:
        """What it is `elapsed_s` after it was switched off, at most `time_s`."""
        return VoltageSource(self.from_v * (1 - elapsed_s / self.time_s), self.limit_a)
