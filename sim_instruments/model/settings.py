"""The commands that set and query what an instrument remembers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sim_instruments.model.channels import Channels
from sim_instruments.model.command_tree import CommandTree
from sim_instruments.model.mnemonics import spellings
from sim_instruments.model.scpi_errors import (
    ILLEGAL_PARAMETER_VALUE,
    MISSING_PARAMETER,
    PARAMETER_NOT_ALLOWED,
    ScpiError,
)
from sim_instruments.model.values import Kind


def require_count(parameters: list[str], count: int) -> None:
    """Check how many parameters there are.

    Raises:
        ScpiError: -109, too few; -108, too many.
    """
    if len(parameters) < count:
        raise ScpiError(MISSING_PARAMETER)
    if len(parameters) > count:
        raise ScpiError(PARAMETER_NOT_ALLOWED)


@dataclass(frozen=True, slots=True)
class SettingCommands:
    """`VOLT 5`, `VOLT?` and `VOLT? MAX` for one setting, on the channels the command is for."""

    name: str
    kind: Kind
    channels: Channels

    def add_to(self, tree: CommandTree, header: str) -> None:
        """Add the setting's command and query."""
        tree.add(header, self._set)
        tree.add(f"{header}?", self._query)

    def _set(self, parameters: list[str], number: int | None) -> None:
        channels, rest = self.channels.pick(parameters, number)
        require_count(rest, 1)
        value = self.kind.parse(rest[0])
        for channel in channels:
            self.channels.set(channel, self.name, value)

    def _query(self, parameters: list[str], number: int | None) -> str:
        channels, rest = self.channels.pick(parameters, number)
        if not rest:
            return ",".join(self._written(channel) for channel in channels)
        require_count(rest, 1)
        limit = self.kind.limit(rest[0])
        if limit is None:
            raise ScpiError(ILLEGAL_PARAMETER_VALUE)
        return self.kind.write(limit)

    def _written(self, channel: str) -> str:
        return self.kind.write(self.channels.values(channel)[self.name])


@dataclass(frozen=True, slots=True)
class SelectorCommands:
    """`INST CH2` and `INST?`: which channel the commands without a channel are for.

    Attributes:
        words: word in SCPI's notation to channel name, as `{"CH2": "2"}`.
        channels: what is selected from.
    """

    words: Mapping[str, str]
    channels: Channels

    def add_to(self, tree: CommandTree, header: str) -> None:
        """Add the selection's command and query."""
        tree.add(header, self._select)
        tree.add(f"{header}?", self._query)

    def _select(self, parameters: list[str], _number: int | None) -> None:
        require_count(parameters, 1)
        spelled = parameters[0].upper()
        for word, channel in self.words.items():
            if spelled in spellings(word):
                self.channels.selected = channel
                return
        raise ScpiError(ILLEGAL_PARAMETER_VALUE)

    def _query(self, parameters: list[str], _number: int | None) -> str:
        require_count(parameters, 0)
        return next(
            word for word, channel in self.words.items() if channel == self.channels.selected
        )
