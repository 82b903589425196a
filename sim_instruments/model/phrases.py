"""What an instrument understands word for word, beside or instead of SCPI.

TSP's `smua.source.output = 0` is no header with parameters, a laser's `EMOFF` answers with itself,
and of `OUTP CH1,OFF` the channel is a parameter. A phrase is a regular expression with what it
changes and what it answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from sim_instruments.model.channels import Channels
from sim_instruments.model.scpi_errors import ScpiError
from sim_instruments.model.values import Kind, Value

Changes = dict[str, dict[str, str]]
"""By channel and setting a value, as the setting's command takes it."""

_GROUP = re.compile(r"\\(\d)")


class Phrase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    r"""One phrase of a device in a bench file.

    Attributes:
        q: regular expression that a whole message unit matches.
        when: what the settings must be for the phrase to be understood, by channel.
        set: what the settings become, by channel; `\1` stands for the first group of `q`.
        r: the reply, none unless given; groups as in `set`.
    """

    q: str
    when: Changes = {}
    set: Changes = {}
    r: str | None = None


class Phrases:
    """The phrases of one instrument; of several that match, the first is understood.

    Args:
        phrases: as they are described.
        kinds: what each setting holds.
        channels: what they change.

    Raises:
        ValueError: in one line, what is wrong with one of them.
    """

    def __init__(
        self, phrases: Sequence[Phrase], kinds: Mapping[str, Kind], channels: Channels
    ) -> None:
        self._kinds = kinds
        self._channels = channels
        self._phrases = [(self._pattern(phrase), phrase) for phrase in phrases]

    def understand(self, unit: str) -> tuple[bool, str | None]:
        """Do what a message unit says.

        Returns:
            Whether it is a phrase, and the reply.

        Raises:
            ScpiError: a setting does not take the value.
        """
        for pattern, phrase in self._phrases:
            found = pattern.fullmatch(unit)
            if found is not None and self._holds(phrase.when):
                for channel, name, value in self._values(phrase.set, found):
                    self._channels.set(channel, name, value)
                return True, None if phrase.r is None else found.expand(phrase.r)
        return False, None

    def _holds(self, when: Changes) -> bool:
        return all(
            self._channels.values(channel)[name] == self._kinds[name].parse(text)
            for channel, settings in when.items()
            for name, text in settings.items()
        )

    def _values(self, changes: Changes, found: re.Match[str]) -> list[tuple[str, str, Value]]:
        # All of them are read before the first is set: a phrase is obeyed as a whole or not at all.
        return [
            (channel, name, self._kinds[name].parse(found.expand(text)))
            for channel, settings in changes.items()
            for name, text in settings.items()
        ]

    def _pattern(self, phrase: Phrase) -> re.Pattern[str]:
        where = f"phrase {phrase.q!r}"
        try:
            pattern = re.compile(phrase.q)
        except re.error as error:
            raise ValueError(f"{where}: not a regular expression ({error})") from None
        texts = [text for settings in phrase.set.values() for text in settings.values()]
        for text in [*texts, phrase.r or ""]:
            if any(int(group) > pattern.groups for group in _GROUP.findall(text)):
                raise ValueError(f"{where}: {text!r} has no such group")
        for channel, settings in phrase.when.items():
            self._check(where, channel, settings)
        for channel, settings in phrase.set.items():
            fixed = {name: "" if _GROUP.search(text) else text for name, text in settings.items()}
            self._check(where, channel, fixed)
        return pattern

    def _check(self, where: str, channel: str, settings: Mapping[str, str]) -> None:
        """Check the names, and the values but empty ones: known only when the phrase is spoken."""
        if channel not in self._channels.names:
            known = ", ".join(self._channels.names)
            raise ValueError(f"{where}: no channel {channel!r} ({known})")
        for name, text in settings.items():
            if name not in self._kinds:
                known = ", ".join(self._kinds)
                raise ValueError(f"{where}: no setting {name!r} ({known})")
            try:
                if text:
                    self._kinds[name].parse(text)
            except ScpiError as error:
                raise ValueError(f"{where}: {name} {text!r} gives {error}") from None
