"""What is wired to an instrument's terminals, and what voltage and current follow from it.

One model serves source, load and meter: a resistor in series with an ideal voltage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import msgspec


class Circuit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The other side of a pair of terminals.

    Attributes:
        resistance_ohm: series resistance; infinite (nothing connected) unless given.
        emf_v: voltage behind the resistor, 0 V unless given.
    """

    resistance_ohm: Annotated[float, msgspec.Meta(gt=0)] = math.inf
    emf_v: float = 0.0


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What stands at the terminals.

    Attributes:
        voltage_v: voltage across the terminals.
        current_a: current out of a source, or into a load.
        limited: whether the compliance limit decides instead of the set-point.
    """

    voltage_v: float
    current_a: float
    limited: bool = False


def idle(circuit: Circuit) -> OperatingPoint:
    """Nothing driven: no current, and the circuit's own voltage."""
    return OperatingPoint(circuit.emf_v, 0.0)


def force_voltage(circuit: Circuit, level_v: float, limit_a: float) -> OperatingPoint:
    """A voltage source at `level_v` that gives no more than `limit_a` in either direction."""
    current_a = (level_v - circuit.emf_v) / circuit.resistance_ohm
    if abs(current_a) <= limit_a:
        return OperatingPoint(level_v, current_a)
    current_a = math.copysign(limit_a, current_a)
    return OperatingPoint(circuit.emf_v + current_a * circuit.resistance_ohm, current_a, True)


def force_current(circuit: Circuit, level_a: float, limit_v: float) -> OperatingPoint:
    """A current source at `level_a` that goes no further than `limit_v` in either direction."""
    # 0 A into an open circuit would be 0 times infinity.
    rise_v = level_a * circuit.resistance_ohm if level_a else 0.0
    voltage_v = circuit.emf_v + rise_v
    if abs(voltage_v) <= limit_v:
        return OperatingPoint(voltage_v, level_a)
    voltage_v = math.copysign(limit_v, voltage_v)
    return OperatingPoint(voltage_v, (voltage_v - circuit.emf_v) / circuit.resistance_ohm, True)


def sink_current(circuit: Circuit, level_a: float) -> OperatingPoint:
    """An electronic load at `level_a`: it takes what the circuit can give, down to 0 V."""
    available_a = max(circuit.emf_v, 0.0) / circuit.resistance_ohm
    current_a = min(level_a, available_a)
    drop_v = current_a * circuit.resistance_ohm if current_a else 0.0
    return OperatingPoint(circuit.emf_v - drop_v, current_a, level_a > available_a)
