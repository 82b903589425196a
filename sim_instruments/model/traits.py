"""What is unusual about one instrument: how slow it is, and in what way it misbehaves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import msgspec

from sim_instruments.model.command_tree import Command, CommandTree


class Traits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `traits` of a device in a bench file, and of the running instrument.

    Attributes:
        takes_s: query header to the seconds until its reply is available. Replies stay in order,
            so a later reply waits too; a command takes effect at once, even behind a slow query.
        reset_takes_s: seconds that the instrument is busy after `*RST`, which replies wait for.
        mute_while_busy: a message that arrives while the instrument is busy is lost.
        gap_s: a message that arrives sooner than this after the last one taken is lost.
        mute: everything is executed, nothing is ever answered.
        mute_headers: queries that are executed and not answered.
        replies_to_settings: what each command that asks nothing answers when it has been
            obeyed, such as `OK`; nothing when it is empty.
        clients: how many clients it takes at a time, any number unless given. The wires see to it.
        output_stuck_on: an output that is on accepts OFF, and `*RST`, without an error and stays
            on. It does not lie about it: the query answers 1.
        reset_leaves_output_on: `*RST` gives every other setting its default, and the output stays.
        output_on_at_read: `READ?`, `MEASure?` and `INITiate` switch the output on.
        off_state: what a source that is off does: `high_impedance` is not connected, `zero_volts`
            forces 0 V, up to its current limit, and so shorts a battery.
        fall_time_s: seconds that the voltage takes to fall after OFF; the query answers 0 at once.
        watchdog: the instrument has `OUTPut:PROTection:WDOG`, which see in `watchdog.py`.
    """

    takes_s: dict[str, float] = {}
    reset_takes_s: float = 0.0
    mute_while_busy: bool = False
    gap_s: float = 0.0
    mute: bool = False
    mute_headers: list[str] = []
    replies_to_settings: str = ""
    clients: int | None = None
    output_stuck_on: bool = False
    reset_leaves_output_on: bool = False
    output_on_at_read: bool = False
    off_state: Literal["high_impedance", "zero_volts"] = "high_impedance"
    fall_time_s: float = 0.0
    watchdog: bool = False

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        times = {
            "reset_takes_s": self.reset_takes_s,
            "gap_s": self.gap_s,
            "fall_time_s": self.fall_time_s,
            **{f"takes_s of {header!r}": seconds for header, seconds in self.takes_s.items()},
        }
        for name, seconds in times.items():
            if not 0 <= seconds < math.inf:
                raise ValueError(f"{name} is {seconds:g}, expected seconds >= 0")
        if self.clients is not None and self.clients < 1:
            raise ValueError(f"clients is {self.clients}, expected a number >= 1")
        if not (self.replies_to_settings.isascii() and self.replies_to_settings.isprintable()):
            raise ValueError(f"replies_to_settings is {self.replies_to_settings!r}, not ASCII")

    def changed(self, name: str, value: object) -> Traits:
        """Give these traits with one of them changed.

        Raises:
            ValueError: in one line, there is no such trait or it does not take the value.
        """
        refuse_unknown([name])
        try:
            return msgspec.convert(
                msgspec.structs.asdict(self) | {name: value}, Traits, strict=False
            )
        except msgspec.ValidationError as error:
            raise ValueError(f"trait {name!r}: {error}") from None

    def apply_to(self, tree: CommandTree) -> None:
        """Mark the commands that the traits name, and no others.

        Raises:
            ValueError: a header is unknown or not a query; nothing was changed.
        """
        slow = [(_query(tree, header), seconds) for header, seconds in self.takes_s.items()]
        mute = [_query(tree, header) for header in self.mute_headers]
        tree.unmark()
        for command, seconds in slow:
            command.takes_s = seconds
        for command in mute:
            command.mute = True
        tree.find("*RST").takes_s = self.reset_takes_s


def refuse_unknown(names: Iterable[str]) -> None:
    """Check the names of traits.

    Raises:
        ValueError: one of them is not a trait; it says which there are.
    """
    known = Traits.__struct_fields__
    for name in names:
        if name not in known:
            raise ValueError(f"unknown trait {name!r} (known: {', '.join(known)})")


def _query(tree: CommandTree, header: str) -> Command:
    command = tree.find(header)
    if not command.header.is_query:
        raise ValueError(f"trait for {header!r}: it is not a query, so it has no reply")
    return command
