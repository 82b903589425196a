"""How what is wired to an instrument's terminals is described in a bench file."""

from __future__ import annotations

import math

import msgspec

from sim_instruments.model.loads import Capacitor, Diode, Load, Resistor


class Circuit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The other side of a pair of terminals; nothing is connected unless something is given.

    A `resistance_ohm` alone is a resistor. At most one of the other three says what it is instead.

    Attributes:
        resistance_ohm: of the resistor, inside the battery, or across the capacitor.
        emf_v: electromotive force of a battery.
        capacitance_f: of a capacitor, which begins without charge.
        forward_v: forward voltage of a diode at `forward_a`.
        forward_a: the current at which `forward_v` stands.
        ideality: the diode's ideality factor.
    """

    resistance_ohm: float = math.inf
    emf_v: float | None = None
    capacitance_f: float | None = None
    forward_v: float | None = None
    forward_a: float = 0.01
    ideality: float = 1.0

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        for name in ("resistance_ohm", "capacitance_f", "forward_v", "forward_a", "ideality"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value:g}, expected a number > 0")
        for name in ("emf_v", "capacitance_f", "forward_v", "forward_a", "ideality"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} is {value:g}, expected a finite number")
        kinds = [name for name in ("emf_v", "capacitance_f", "forward_v") if self._has(name)]
        if len(kinds) > 1:
            raise ValueError(f"{' and '.join(kinds)} are given, expected at most one of them")
        if self._has("forward_v") and math.isfinite(self.resistance_ohm):
            raise ValueError("resistance_ohm is given beside forward_v, expected one of them")

    def load(self) -> Load:
        """Make what is described, in its first state."""
        if self.forward_v is not None:
            return Diode(self.forward_v, self.forward_a, self.ideality)
        if self.capacitance_f is not None:
            return Capacitor(self.capacitance_f, self.resistance_ohm)
        return Resistor(self.resistance_ohm, self.emf_v or 0.0)

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not None
