"""A resistor, with or without a battery behind it."""

from __future__ import annotations

from dataclasses import dataclass

from sim_instruments.model.loads.load import MemorylessLoad


@dataclass(frozen=True, slots=True)
class Resistor(MemorylessLoad):
    """Ohm's law about an ideal voltage: V = E + R I.

    A battery is its electromotive force behind its internal resistance (Thévenin). An infinite
    resistance is an open circuit, at whose terminals `emf_v` is seen and no current flows.

    Attributes:
        resistance_ohm: R, above 0.
        emf_v: E.
    """

    resistance_ohm: float
    emf_v: float = 0.0

    def current_a(self, voltage_v: float) -> float:
        """I = (V - E) / R."""
        return (voltage_v - self.emf_v) / self.resistance_ohm

    def voltage_v(self, current_a: float) -> float:
        """V = E + R I."""
        # 0 A into an open circuit would be 0 times infinity.
        return self.emf_v + (current_a * self.resistance_ohm if current_a else 0.0)
