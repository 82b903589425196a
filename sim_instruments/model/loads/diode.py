"""A diode, anode at the positive terminal."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sim_instruments.model.loads.load import MemorylessLoad

THERMAL_VOLTAGE_V = 0.025852
"""k T / q at 300 K."""

_LARGEST_EXPONENT = 600.0
"""Beyond it, the current is more than any limit (e to the 600 is 4E260), and 709 overflows."""


@dataclass(frozen=True, slots=True)
class Diode(MemorylessLoad):
    """Shockley's equation: I = I_S (exp(V / n V_T) - 1) (Bell Syst. Tech. J. 28, 1949, 435).

    Attributes:
        forward_v: forward voltage at `forward_a`, as in a data sheet, above 0.
        forward_a: that current, above 0.
        ideality: n, from 1 to 2 in silicon.
    """

    forward_v: float
    forward_a: float
    ideality: float
    _scale_v: float = field(init=False)
    _saturation_a: float = field(init=False)

    def __post_init__(self) -> None:
        """Find I_S from the one point given."""
        scale_v = self.ideality * THERMAL_VOLTAGE_V
        exponent = min(self.forward_v / scale_v, _LARGEST_EXPONENT)
        object.__setattr__(self, "_scale_v", scale_v)
        object.__setattr__(self, "_saturation_a", self.forward_a / math.expm1(exponent))

    def current_a(self, voltage_v: float) -> float:
        """I = I_S (exp(V / n V_T) - 1)."""
        return self._saturation_a * math.expm1(min(voltage_v / self._scale_v, _LARGEST_EXPONENT))

    def voltage_v(self, current_a: float) -> float:
        """V = n V_T ln(1 + I / I_S); there is no voltage at which it blocks more than I_S."""
        if current_a <= -self._saturation_a:
            return -math.inf
        return self._scale_v * math.log1p(current_a / self._saturation_a)
