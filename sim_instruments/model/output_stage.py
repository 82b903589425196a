"""The electrical side of an instrument: each channel's terminals, as time passes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from sim_instruments.model.channels import OUTPUT, Channels
from sim_instruments.model.circuit import Circuit
from sim_instruments.model.drive import (
    CurrentSink,
    CurrentSource,
    Drive,
    Fall,
    Open,
    OperatingPoint,
    VoltageSource,
)
from sim_instruments.model.terminals import Terminals
from sim_instruments.model.traits import Traits
from sim_instruments.model.values import INFINITY, Value

Role = Literal["source", "sink", "meter", "emitter"]


def driven(role: Role, values: Mapping[str, Value]) -> Drive:
    """Find what an instrument does to a channel whose output is on.

    Args:
        role: what kind of instrument it is.
        values: the channel's settings. `voltage`, `current`, `voltage_limit`, `current_limit` and
            `function` (VOLT or CURR) have a meaning here, other names have none.
    """
    if role == "sink":
        return CurrentSink(float(values["current"]))
    if values.get("function", "VOLT" if "voltage" in values else "CURR") == "VOLT":
        return VoltageSource(float(values["voltage"]), _limit(values, "current_limit"))
    return CurrentSource(float(values["current"]), _limit(values, "voltage_limit"))


def _limit(values: Mapping[str, Value], name: str) -> float:
    return float(values.get(name, INFINITY))


class OutputStage:
    """Every channel's terminals. Between two calls of `advance` no time passes.

    Args:
        role: what the instrument does to its circuits.
        channels: its settings.
        circuits: what is wired to each channel.
        traits: `off_state` and `fall_time_s` are read; may be exchanged for others.

    Attributes:
        now_s: the time that it has advanced to.
        latched_off: whether a protection holds the outputs off, whatever the settings say.
    """

    def __init__(
        self, role: Role, channels: Channels, circuits: Mapping[str, Circuit], traits: Traits
    ) -> None:
        self.traits = traits
        self.now_s = -math.inf
        self.latched_off = False
        self._role = role
        self._channels = channels
        self._terminals = {name: Terminals(circuit.load()) for name, circuit in circuits.items()}

    def advance(self, now_s: float) -> None:
        """Let the time pass until `now_s`, with the settings as they are."""
        self.now_s = now_s
        for channel, terminals in self._terminals.items():
            if not terminals.timeless:
                terminals.advance(self._drive(channel), now_s)

    def output(self) -> dict[str, bool]:
        """Whether each channel's output is on in fact; empty for an instrument without outputs."""
        return {
            channel: is_set and not self.latched_off
            for channel, is_set in self._channels.output().items()
        }

    def point(self, channel: str) -> OperatingPoint:
        """What stands at one channel's terminals."""
        return self._terminals[channel].point(self._drive(channel))

    def switching(self, channel: str, on: bool) -> None:
        """Prepare for a channel that is about to be switched: a source's voltage begins to fall."""
        if self.latched_off:
            return
        terminals = self._terminals[channel]
        if on:
            terminals.end_fall()
        elif self.traits.fall_time_s and self._role == "source":
            from_v = self.point(channel).voltage_v
            limit_a = _limit(self._channels.values(channel), "current_limit")
            terminals.begin_fall(Fall(from_v, self.traits.fall_time_s, limit_a), self.now_s)

    def latch_off(self) -> None:
        """Switch every output off without touching the settings."""
        for channel, is_on in self.output().items():
            if is_on:
                self.switching(channel, False)
        self.latched_off = True

    def release(self) -> None:
        """Let the settings rule again: what is set to ON is on at once."""
        self.latched_off = False
        for channel, is_on in self.output().items():
            if is_on:
                self.switching(channel, True)

    def _drive(self, channel: str) -> Drive:
        values = self._channels.values(channel)
        if values.get(OUTPUT) and not self.latched_off and self._role in ("source", "sink"):
            return driven(self._role, values)
        if self._role == "source" and self.traits.off_state == "zero_volts":
            return VoltageSource(0.0, _limit(values, "current_limit"))
        return Open()
