"""The commands of one instrument, found by the headers that a message spells."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from sim_instruments.model.header import Header, parse_header
from sim_instruments.model.scpi_errors import UNDEFINED_HEADER, ScpiError

Action = Callable[[list[str], int | None], str | None]
"""What a command does: parameters and the channel its header names, to a reply if it is a query."""

_CACHED_HEADERS = 1024


@dataclass(slots=True)
class Command:
    """One command of the instrument.

    Attributes:
        header: what calls it.
        run: what it does.
        takes_s: seconds until its reply is available.
        mute: whether its reply is withheld.
    """

    header: Header
    run: Action
    takes_s: float = 0.0
    mute: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A header found in the tree.

    Attributes:
        command: the command it stands for.
        channel: the number written in the place of `<n>`, `None` when there is no such place.
        path: where the next header of the message starts, such as `:SOUR`.
    """

    command: Command
    channel: int | None
    path: str


class CommandTree:
    """All commands of one instrument."""

    def __init__(self) -> None:
        self._commands: list[Command] = []
        # Matching every pattern costs some 10 µs; what is sent is mostly sent again.
        self.resolve = lru_cache(_CACHED_HEADERS)(self._resolve)
        """Find what a header in capitals calls: `resolve(header, path)` gives a `Call`."""

    def add(self, notation: str, run: Action) -> None:
        """Add a command by its header in SCPI's notation.

        Raises:
            ValueError: the notation is malformed or was added before.
        """
        self.require_new([notation])
        self._commands.append(Command(parse_header(notation), run))
        self.resolve.cache_clear()

    def require_new(self, notations: Iterable[str]) -> None:
        """Check that none of these has been added.

        Raises:
            ValueError: one has.
        """
        known = {command.header.notation for command in self._commands}
        for notation in notations:
            if notation in known:
                raise ValueError(f"header {notation!r} is described twice")

    def remove(self, notation: str) -> None:
        """Take away the command that was added with this notation."""
        self._commands = [c for c in self._commands if c.header.notation != notation]
        self.resolve.cache_clear()

    def unmark(self) -> None:
        """Let every command answer, and at once."""
        for command in self._commands:
            command.takes_s = 0.0
            command.mute = False

    def find(self, header: str) -> Command:
        """Give the command for a header in SCPI's notation or in any spelling.

        Raises:
            ValueError: the instrument has no such command.
        """
        spelled = header.replace("[", "").replace("]", "").replace("<n>", "").upper()
        try:
            return self._resolve(spelled, "").command
        except ScpiError:
            raise ValueError(f"no command has the header {header!r}") from None

    def _resolve(self, header: str, path: str) -> Call:
        """Find a header, relative to `path` unless it starts at the root.

        The path that a header leaves behind is itself without its last node, as spelled: omitted
        nodes do not count, and a common command leaves the path alone (SCPI-99 volume 1, 6.2.4).

        Raises:
            ScpiError: -113 or -114.
        """
        if header.startswith("*"):
            return self._match(header, path)
        spelled = header if header.startswith(":") else f"{path}:{header}"
        return self._match(spelled, spelled.rpartition(":")[0])

    def _match(self, spelled: str, path: str) -> Call:
        for command in self._commands:
            number = command.header.match(spelled)
            if number is not None:
                return Call(command, number if command.header.names_channel else None, path)
        raise ScpiError(UNDEFINED_HEADER)
