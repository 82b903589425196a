"""What every load offers, and how one without a memory meets what drives it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Protocol

from sim_instruments.model.drive import (
    CurrentSink,
    CurrentSource,
    Drive,
    Fall,
    OperatingPoint,
    VoltageSource,
)


class Load(Protocol):
    """One thing wired to one pair of terminals."""

    def advance(self, drive: Drive, elapsed_s: float) -> None:
        """Let time pass during which `drive` was in force."""

    def fall(self, fall: Fall, elapsed_s: float) -> OperatingPoint:
        """Let time pass up to `elapsed_s` after the start of a fall, and say what stands then."""

    def point(self, drive: Drive) -> OperatingPoint:
        """What stands at the terminals now, with `drive` in force."""


class MemorylessLoad(ABC):
    """A load whose current depends on the present voltage alone, and rises with it."""

    @abstractmethod
    def current_a(self, voltage_v: float) -> float:
        """Current into the load at a voltage."""

    @abstractmethod
    def voltage_v(self, current_a: float) -> float:
        """Voltage at a current into the load; infinite where it cannot carry that current."""

    def advance(self, drive: Drive, elapsed_s: float) -> None:
        """Nothing changes with time."""
        del drive, elapsed_s

    def fall(self, fall: Fall, elapsed_s: float) -> OperatingPoint:
        """What stands at the terminals at that moment of the fall."""
        return self.point(fall.source(elapsed_s))

    def point(self, drive: Drive) -> OperatingPoint:
        """Where the drive's characteristic meets the load's."""
        match drive:
            case VoltageSource(level_v, limit_a):
                return self._at_voltage(level_v, limit_a)
            case CurrentSource(level_a, limit_v):
                return self._at_current(level_a, limit_v)
            case CurrentSink(level_a):
                return self._drained(level_a)
        return OperatingPoint(self.voltage_v(0.0), 0.0)

    def _at_voltage(self, level_v: float, limit_a: float) -> OperatingPoint:
        current_a = self.current_a(level_v)
        if abs(current_a) <= limit_a:
            return OperatingPoint(level_v, current_a)
        current_a = math.copysign(limit_a, current_a)
        return OperatingPoint(self.voltage_v(current_a), current_a, limited=True)

    def _at_current(self, level_a: float, limit_v: float) -> OperatingPoint:
        voltage_v = self.voltage_v(level_a)
        if abs(voltage_v) <= limit_v:
            return OperatingPoint(voltage_v, level_a)
        voltage_v = math.copysign(limit_v, voltage_v)
        return OperatingPoint(voltage_v, self.current_a(voltage_v), limited=True)

    def _drained(self, level_a: float) -> OperatingPoint:
        available_a = max(-self.current_a(0.0), 0.0)
        current_a = min(level_a, available_a)
        return OperatingPoint(self.voltage_v(-current_a), current_a, limited=level_a > available_a)
