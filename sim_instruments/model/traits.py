"""What is unusual about one instrument: how slow it is, and in what way it misbehaves."""

from __future__ import annotations

from typing import Annotated

import msgspec

from sim_instruments.model.command_tree import Command, CommandTree


class Traits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `traits` of a device in a bench file.

    Attributes:
        takes_s: query header to the seconds until its reply is available. Replies stay in order,
            so a later reply waits too; a command takes effect at once, even behind a slow query.
        output_stuck_on: an output that is on accepts OFF, and `*RST`, without an error and stays
            on. It does not lie about it: the query answers 1.
        mute: everything is executed, nothing is ever answered.
        mute_headers: queries that are executed and not answered.
    """

    takes_s: dict[str, Annotated[float, msgspec.Meta(ge=0)]] = {}
    output_stuck_on: bool = False
    mute: bool = False
    mute_headers: list[str] = []

    def apply_to(self, tree: CommandTree) -> None:
        """Mark the commands that the traits name.

        Raises:
            ValueError: a header is unknown or not a query.
        """
        for header, seconds in self.takes_s.items():
            _query(tree, header).takes_s = seconds
        for header in self.mute_headers:
            _query(tree, header).mute = True


def _query(tree: CommandTree, header: str) -> Command:
    command = tree.find(header)
    if not command.header.is_query:
        raise ValueError(f"trait for {header!r}: it is not a query, so it has no reply")
    return command
