"""A capacitor with a resistor across it: it charges under compliance and decays after OFF."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sim_instruments.model.drive import (
    CurrentSink,
    CurrentSource,
    Drive,
    Fall,
    OperatingPoint,
    VoltageSource,
)


@dataclass(slots=True)
class Capacitor:
    """C dv/dt = i - v / R (Kirchhoff's current law), solved for a constant current.

    Every drive is a constant current until the capacitor has reached some voltage, where it is
    held: a voltage source charges at its current limit up to its level, a current source at its
    level up to its voltage limit, and an electronic load discharges at its level down to 0 V. Above
    its voltage limit a current source pulls at its level. What the drive cannot hold, because the
    resistor takes more than the drive gives, decays from there.

    Attributes:
        capacitance_f: C, above 0.
        resistance_ohm: R, above 0; infinite for a capacitor that keeps its charge.
        voltage_v: what it is charged to.
    """

    capacitance_f: float
    resistance_ohm: float
    voltage_v: float = 0.0

    def advance(self, drive: Drive, elapsed_s: float) -> None:
        """Let it charge or decay while `drive` is in force."""
        while elapsed_s > 0:
            current_a, stop_v = self._push(drive)
            if self._is_held(current_a, stop_v):
                return
            reached_s = self._time_to(stop_v, current_a)
            if elapsed_s < reached_s:
                self.voltage_v = self._after(self.voltage_v, current_a, elapsed_s)
                return
            self.voltage_v = stop_v
            elapsed_s -= reached_s

    def point(self, drive: Drive) -> OperatingPoint:
        """What stands at the terminals at this moment."""
        current_a, stop_v = self._push(drive)
        held = self._is_held(current_a, stop_v)
        if held:
            current_a = self.voltage_v / self.resistance_ohm
        match drive:
            case VoltageSource():
                return OperatingPoint(self.voltage_v, current_a, limited=not held)
            case CurrentSource(level_a):
                return OperatingPoint(self.voltage_v, current_a, limited=current_a != level_a)
            case CurrentSink(level_a):
                taken_a = abs(current_a)
                return OperatingPoint(self.voltage_v, taken_a, limited=taken_a != level_a)
        return OperatingPoint(self.voltage_v, 0.0)

    def fall(self, fall: Fall, elapsed_s: float) -> OperatingPoint:
        """Follow a source's fall as long as its current limit is enough, then discharge at it.

        Following takes C dv/dt + v / R. As v falls, ever more of it must be taken by the source;
        when that is more than the limit the capacitor stays behind for good.
        """
        slope_v_s = abs(fall.from_v) / fall.time_s
        short_a = self.capacitance_f * slope_v_s - fall.limit_a
        leaves_v = min(self.resistance_ohm * short_a, abs(fall.from_v)) if short_a > 0 else 0.0
        level_v = fall.source(elapsed_s).level_v
        if abs(level_v) >= leaves_v:
            self.voltage_v = level_v
            slope_a = -math.copysign(self.capacitance_f * slope_v_s, fall.from_v)
            return OperatingPoint(level_v, slope_a + level_v / self.resistance_ohm)
        alone_s = elapsed_s - (abs(fall.from_v) - leaves_v) / slope_v_s
        left_v = max(self._after(leaves_v, -fall.limit_a, alone_s), 0.0)
        self.voltage_v = math.copysign(left_v, fall.from_v)
        current_a = -math.copysign(fall.limit_a, fall.from_v)
        return OperatingPoint(self.voltage_v, current_a, limited=True)

    def _push(self, drive: Drive) -> tuple[float, float]:
        """The constant current that a drive sends in, and the voltage at which that ends."""
        match drive:
            case VoltageSource(level_v, limit_a):
                short_v = level_v - self.voltage_v
                return math.copysign(limit_a, short_v or level_v), level_v
            case CurrentSource(level_a, limit_v):
                if abs(self.voltage_v) > limit_v:
                    outward_a = math.copysign(level_a, self.voltage_v)
                    return -outward_a, math.copysign(limit_v, self.voltage_v)
                return level_a, math.copysign(limit_v, level_a)
            case CurrentSink(level_a):
                return (-level_a if self.voltage_v > 0 else 0.0), 0.0
        return 0.0, math.inf

    def _is_held(self, current_a: float, stop_v: float) -> bool:
        """Whether it is where the drive wants it, and the drive can feed the resistor there."""
        return self.voltage_v == stop_v and abs(stop_v / self.resistance_ohm) <= abs(current_a)

    def _time_to(self, stop_v: float, current_a: float) -> float:
        """Seconds until it is at `stop_v`, infinite if that is not where it is going."""
        way_v = stop_v - self.voltage_v
        if current_a == 0 or way_v == 0:
            return math.inf
        if math.isinf(self.resistance_ohm):
            seconds = way_v * self.capacitance_f / current_a
            return seconds if (way_v > 0) == (current_a > 0) else math.inf
        beyond_v = current_a * self.resistance_ohm - stop_v
        if beyond_v == 0 or (way_v > 0) != (beyond_v > 0):
            return math.inf
        return self.resistance_ohm * self.capacitance_f * math.log1p(way_v / beyond_v)

    def _after(self, start_v: float, current_a: float, elapsed_s: float) -> float:
        """Solve it: v = i R + (v0 - i R) exp(-t / R C), and v = v0 + i t / C without R."""
        if math.isinf(self.resistance_ohm):
            return start_v + current_a * elapsed_s / self.capacitance_f
        final_v = current_a * self.resistance_ohm
        decay = -math.expm1(-elapsed_s / (self.resistance_ohm * self.capacitance_f))
        return start_v + (final_v - start_v) * decay
