"""The trait `output_on_at_read`: what begins a measurement switches the output on."""

from __future__ import annotations

import re

from sim_instruments.model.channels import OUTPUT, Channels
from sim_instruments.model.command_tree import Action

# What begins a measurement; `FETCh?` only answers the last one (SCPI-99 volume 2, 3).
_MEASURES = re.compile(r":?(?:READ|MEASure|INITiate)\b")

AUTO_ON = "auto_on"
"""Name of the setting that the trait obeys, in an instrument that has it (`OUTPut:ON:AUTO`)."""


def measuring(header: str, action: Action, channels: Channels) -> Action:
    """Give the action for a header: it switches on first where the header begins a measurement.

    Args:
        header: in SCPI's notation.
        action: what the command does otherwise.
        channels: whose output is switched on.
    """
    if not _MEASURES.match(header):
        return action

    def switch_on_first(parameters: list[str], number: int | None) -> str | None:
        if channels.traits.output_on_at_read and channels.output():
            for channel in channels.pick(parameters, number)[0]:
                if channels.values(channel).get(AUTO_ON, True):
                    channels.set(channel, OUTPUT, True)
        return action(parameters, number)

    return switch_on_first
