"""What is to happen to the reply of one message, and to those who are connected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Lasting = Literal["stall", "frozen", "unplug"]
"""What befalls an instrument until it is over."""

Happening = Literal[Lasting, "drop", "reset"]
"""What befalls a connection or the whole instrument, at the moment the message was executed."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The faults that strike one message.

    Attributes:
        delay_s: how long its reply waits before the first byte.
        piece_size: bytes that are sent at a time, `None` for all at once.
        piece_gap_s: seconds between two pieces.
        garbage: bytes sent before the reply.
        no_reply: whether the reply is thrown away.
        happenings: what befalls those who are connected, with the seconds until it is over.
    """

    delay_s: float = 0.0
    piece_size: int | None = None
    piece_gap_s: float = 0.0
    garbage: bytes = b""
    no_reply: bool = False
    happenings: tuple[tuple[Happening, float | None], ...] = ()

    @property
    def ends_connection(self) -> bool:
        """Whether the client that sent the message loses its connection, and the reply with it."""
        return any(happening in ("drop", "reset") for happening, _ in self.happenings)

    def pieces(self, frame: bytes) -> list[bytes]:
        """Cut what goes on the wire, garbage and frame, into what is sent at a time."""
        stream = self.garbage + frame
        size = self.piece_size or max(len(stream), 1)
        return [stream[start : start + size] for start in range(0, len(stream), size)]


UNHARMED = Effect()
