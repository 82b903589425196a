"""What an instrument measures: from what stands at its terminals to the numbers of a reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sim_instruments.model.channels import Channels
from sim_instruments.model.output_stage import OutputStage
from sim_instruments.model.values import NOT_A_NUMBER

Quantity = Literal["voltage", "current", "power", "resistance", "time", "status"]

_STATUS_IN_COMPLIANCE = 8.0


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measuring part of one instrument.

    Attributes:
        channels: its settings.
        stage: its terminals.
        style: Python's format specification of a number in a reply.
        switched_on_s: monotonic time at power-on, for the `time` of a reading.
    """

    channels: Channels
    stage: OutputStage
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
            return self.stage.now_s - self.switched_on_s
        point = self.stage.point(channel)
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
