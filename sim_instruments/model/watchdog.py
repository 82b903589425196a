"""The output watchdog: no message for too long, and the outputs are off.

As `OUTPut:PROTection:WDOG` of the Keysight N6900/N7900 (Operating and Service Guide, chapter 6): it
latches the outputs off and leaves their settings alone. So `OUTP?` still answers 1, and
`OUTP:PROT:CLE` switches the outputs on again.
"""

from __future__ import annotations

import math

from sim_instruments.model.channels import Channels
from sim_instruments.model.command_tree import CommandTree
from sim_instruments.model.common_commands import answer, order
from sim_instruments.model.output_stage import OutputStage
from sim_instruments.model.settings import SettingCommands
from sim_instruments.model.values import Number, Switch

_STATE = ":OUTPut:PROTection:WDOG[:STATe]"
_DELAY = ":OUTPut:PROTection:WDOG:DELay"
_CLEAR = ":OUTPut:PROTection:CLEar"
_CONDITION = ":STATus:QUEStionable:CONDition?"
_HEADERS = (_STATE, f"{_STATE}?", _DELAY, f"{_DELAY}?", _CLEAR, _CONDITION)

_PROTECTION = 1 << 11
"""Bit PROT of the questionable status register."""

_DELAY_S = Number(unit="S", minimum=1, maximum=3600, default=60, style="g")


class Watchdog:
    """The timer and its commands, on an instrument with the trait `watchdog`.

    Args:
        stage: whose outputs it latches off.
    """

    def __init__(self, stage: OutputStage) -> None:
        self._stage = stage
        self._fed_s = math.inf
        self._settings = Channels(("1",), {"enabled": False, "delay_s": _DELAY_S.default})

    def feed(self, now_s: float) -> None:
        """Start the time anew: a message came."""
        self._fed_s = now_s

    def bite(self, now_s: float) -> None:
        """Latch the outputs off, at the time at which it was due, if that was before `now_s`."""
        settings = self._settings.values("1")
        due_s = self._fed_s + float(settings["delay_s"])
        if settings["enabled"] and due_s <= now_s and not self._stage.latched_off:
            self._stage.advance(due_s)
            self._stage.latch_off()

    def reset(self) -> None:
        """Do its part of `*RST`: it is disabled, but what it has latched stays latched."""
        self._settings.reset()

    def add_to(self, tree: CommandTree) -> None:
        """Add the commands.

        Raises:
            ValueError: the instrument has one of its own; then none was added.
        """
        tree.require_new(_HEADERS)
        SettingCommands("enabled", Switch(), self._settings).add_to(tree, _STATE)
        SettingCommands("delay_s", _DELAY_S, self._settings).add_to(tree, _DELAY)
        tree.add(_CLEAR, order(self._stage.release))
        tree.add(_CONDITION, answer(lambda: _PROTECTION if self._stage.latched_off else 0))

    def take_from(self, tree: CommandTree) -> None:
        """Take the commands away, and with them what they have done."""
        for header in _HEADERS:
            tree.remove(header)
        self.reset()
        self._stage.release()
