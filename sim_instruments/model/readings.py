"""What an instrument measures: from its settings and its circuit to the numbers of a reply."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sim_instruments.model import circuit
from sim_instruments.model.channels import OUTPUT, Channels
from sim_instruments.model.circuit import Circuit, OperatingPoint
from sim_instruments.model.values import Value

Role = Literal["source", "sink", "meter"]
Quantity = Literal["voltage", "current", "power", "resistance", "time", "status"]

INFINITY = 9.9e37
"""What stands for infinity in a reply (SCPI-99 volume 1, 7.2.1.4)."""
NOT_A_NUMBER = 9.91e37
"""What a reading without a meaning is answered as (SCPI-99 volume 1, 7.2.1.5)."""

_STATUS_IN_COMPLIANCE = 8.0


def operating_point(role: Role, values: Mapping[str, Value], wired: Circuit) -> OperatingPoint:
    """Find what stands at one channel's terminals.

    Args:
        role: what the instrument does to the circuit while its output is on.
        values: the channel's settings. `voltage`, `current`, `voltage_limit`, `current_limit`,
            `output` and `function` (VOLT or CURR) have a meaning here, other names have none.
        wired: what is connected to the terminals.
    """
    if role == "meter" or not values[OUTPUT]:
        return circuit.idle(wired)
    if role == "sink":
        return circuit.sink_current(wired, float(values["current"]))
    if values.get("function", "VOLT" if "voltage" in values else "CURR") == "VOLT":
        limit_a = float(values.get("current_limit", INFINITY))
        return circuit.force_voltage(wired, float(values["voltage"]), limit_a)
    limit_v = float(values.get("voltage_limit", INFINITY))
    return circuit.force_current(wired, float(values["current"]), limit_v)


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measuring part of one instrument.

    Attributes:
        role: what the instrument does to its circuits.
        channels: its settings.
        circuits: what is wired to each channel.
        style: Python's format specification of a number in a reply.
        switched_on_s: `time.monotonic()` in seconds at power-on, for the `time` of a reading.
    """

    role: Role
    channels: Channels
    circuits: Mapping[str, Circuit]
    style: str
    switched_on_s: float

    def query(self, quantities: Sequence[Quantity]) -> Callable[[list[str], int | None], str]:
        """Make the action of a query that answers `quantities`, channel after channel.

        `MEASure`'s expected value and resolution (SCPI-99 volume 2, 3.4) are accepted, and have
        no effect: there is no range to choose.
        """

        def measure(parameters: list[str], number: int | None) -> str:
            channels, _expected = self.channels.pick(parameters, number)
            return ",".join(
                format(self._value(quantity, channel), self.style)
                for channel in channels
                for quantity in quantities
            )

        return measure

    def _value(self, quantity: Quantity, channel: str) -> float:
        if quantity == "time":
            return time.monotonic() - self.switched_on_s
        point = operating_point(self.role, self.channels.values(channel), self.circuits[channel])
        match quantity:
            case "voltage":
                return point.voltage_v
            case "current":
                return point.current_a
            case "power":
                return point.voltage_v * point.current_a
            case "resistance":
                return point.voltage_v / point.current_a if point.current_a else NOT_A_NUMBER
            case "status":
                return _STATUS_IN_COMPLIANCE if point.limited else 0.0
