"""The state of an instrument: the value of every setting on every channel, and the selection."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from sim_instruments.model.scpi_errors import (
    DATA_OUT_OF_RANGE,
    HEADER_SUFFIX_OUT_OF_RANGE,
    INVALID_EXPRESSION,
    ScpiError,
)
from sim_instruments.model.traits import Traits
from sim_instruments.model.values import Value

OUTPUT = "output"
"""Name of the setting that connects the terminals, whatever its header (`OUTP`, `INP`)."""

_RANGE = re.compile(r"(\d{1,3})(?: *: *(\d{1,3}))?")
_ORDINARY = Traits()


def _nothing(_channel: str, _on: bool) -> None:
    """Take no notice of an output that is switched."""


class Channels:
    """Settings by channel. The first channel is the selected one after power-on and `*RST`.

    Args:
        names: channel names, `"1"` for an instrument with one.
        defaults: value of each setting after power-on and `*RST`.
        traits: what is unusual about the instrument; may be exchanged for others.

    Attributes:
        switching: called with a channel and what its output is just about to become.
    """

    def __init__(
        self,
        names: Iterable[str],
        defaults: Mapping[str, Value],
        traits: Traits = _ORDINARY,
    ) -> None:
        self.names = tuple(names)
        self.selected = self.names[0]
        self.traits = traits
        self.switching: Callable[[str, bool], None] = _nothing
        self._defaults = defaults
        self._values = {channel: dict(defaults) for channel in self.names}

    def values(self, channel: str) -> Mapping[str, Value]:
        """Every setting of one channel by name."""
        return self._values[channel]

    def set(self, channel: str, setting: str, value: Value) -> None:
        """Change one setting of one channel."""
        values = self._values[channel]
        if setting == OUTPUT and values[OUTPUT] != value:
            if not value and self.traits.output_stuck_on:
                return
            self.switching(channel, bool(value))
        values[setting] = value

    def reset(self) -> None:
        """Give every setting its default and select the first channel (`*RST`)."""
        self.selected = self.names[0]
        for channel in self.names:
            # The output first: as long as it is on, the settings are those it was on with.
            if OUTPUT in self._defaults and not self.traits.reset_leaves_output_on:
                self.set(channel, OUTPUT, self._defaults[OUTPUT])
            for setting, value in self._defaults.items():
                if setting != OUTPUT:
                    self.set(channel, setting, value)

    def output(self) -> dict[str, bool]:
        """Whether each channel's output is set to ON; empty for an instrument without outputs."""
        if OUTPUT not in self._defaults:
            return {}
        return {channel: bool(values[OUTPUT]) for channel, values in self._values.items()}

    def pick(self, parameters: list[str], number: int | None) -> tuple[list[str], list[str]]:
        """Find out which channels a command is for.

        Args:
            parameters: the command's parameters; the last may be a channel list `(@1,3:4)`
                (SCPI-99 volume 1, 8.3.2), if the instrument has more than one channel.
            number: the number in the command's header, which goes before the selection.

        Returns:
            The channels, and the parameters without the channel list.

        Raises:
            ScpiError: -114, -171 or -222, no such channel.
        """
        if len(self.names) > 1 and parameters and parameters[-1].startswith("(@"):
            return self._listed(parameters[-1]), parameters[:-1]
        if number is None:
            return [self.selected], parameters
        if str(number) not in self.names:
            raise ScpiError(HEADER_SUFFIX_OUT_OF_RANGE)
        return [str(number)], parameters

    def _listed(self, channel_list: str) -> list[str]:
        picked: list[str] = []
        for item in channel_list[2:-1].split(","):
            found = _RANGE.fullmatch(item.strip(" "))
            if found is None:
                raise ScpiError(INVALID_EXPRESSION)
            first, last = int(found[1]), int(found[2] or found[1])
            picked.extend(str(number) for number in range(first, last + 1))
        if not picked or not set(picked) <= set(self.names):
            raise ScpiError(DATA_OUT_OF_RANGE)
        return picked
