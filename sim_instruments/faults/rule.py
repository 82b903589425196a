"""How a fault is asked for: what it does, to which messages, and how often."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Kind = Literal[
    "delay",
    "trickle",
    "fragment",
    "garbage",
    "no_reply",
    "stall",
    "frozen",
    "drop",
    "reset",
    "unplug",
    "sticky_lock",
]
"""What can go wrong; `docs/reference/simulation.md` says of each what it does to whom."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault, and the messages that bring it about.

    Attributes:
        kind: what happens.
        pattern: regular expression looked for in the program message, in either case; every
            message matches the empty one.
        skip: how many matching messages pass unharmed first.
        count: how many it strikes then, `None` for all.
        rate: with which probability it strikes each of them, 0 to 1.
        seconds: how long a reply is delayed, the time between two pieces, or until a stall, a
            freeze or an unplugged cable is over; `None` for the kind's own default.
        size: bytes in a piece of a fragmented reply.
        data: bytes of garbage in hexadecimal digits; drawn at random when empty.
    """

    kind: Kind
    pattern: str = ""
    skip: int = 0
    count: int | None = None
    rate: float = 1.0
    seconds: float | None = None
    size: int = 4
    data: str = ""

    def __post_init__(self) -> None:
        """Check what types alone do not say.

        Raises:
            ValueError: in one line, what is wrong.
        """
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern {self.pattern!r}: {error}") from None
        bytes.fromhex(self.data)
        for name, holds, right in (
            ("skip", self.skip >= 0, "0 or more"),
            ("count", self.count is None or self.count > 0, "1 or more"),
            ("rate", 0 < self.rate <= 1, "above 0 and at most 1"),
            ("seconds", self.seconds is None or 0 <= self.seconds < float("inf"), "0 or more"),
            ("size", self.size > 0, "1 or more"),
        ):
            if not holds:
                raise ValueError(f"{name} must be {right}, not {getattr(self, name)}")
