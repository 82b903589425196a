"""The latch: what a trip holds down, and what it takes to release it.

Its transitions are the table ``LATCH``; the diagram in the docs is drawn from it. A pair
that is missing from the table is refused: the state stays as it is.
"""

from enum import Enum


class LatchState(Enum):
    """Whether commands other than SAFETY are accepted."""

    ARMED = "armed"
    TRIPPED = "tripped"
    SAFE = "safe"


class LatchEvent(Enum):
    """What can happen to the latch."""

    TRIP = "trip"
    CONFIRM = "confirm"
    REARM = "rearm"


LATCH: dict[tuple[LatchState, LatchEvent], LatchState] = {
    (LatchState.ARMED, LatchEvent.TRIP): LatchState.TRIPPED,
    (LatchState.TRIPPED, LatchEvent.TRIP): LatchState.TRIPPED,
    (LatchState.SAFE, LatchEvent.TRIP): LatchState.TRIPPED,
    (LatchState.TRIPPED, LatchEvent.CONFIRM): LatchState.SAFE,
    (LatchState.SAFE, LatchEvent.CONFIRM): LatchState.SAFE,
    (LatchState.ARMED, LatchEvent.CONFIRM): LatchState.ARMED,
    (LatchState.SAFE, LatchEvent.REARM): LatchState.ARMED,
    (LatchState.ARMED, LatchEvent.REARM): LatchState.ARMED,
}


class Latch:
    """Holds after a trip until a deliberate rearm (in the spirit of ISO 13850, clause 4.1.4).

    Attributes:
        state: Where the latch is.
        reason: Why it tripped last; empty while it never has.
    """

    def __init__(self) -> None:
        self.state = LatchState.ARMED
        self.reason = ""

    @property
    def latched(self) -> bool:
        """Whether everything but SAFETY is refused."""
        return self.state is not LatchState.ARMED

    def apply(self, event: LatchEvent) -> bool:
        """Apply ``event``; return False, with nothing changed, if the table refuses it."""
        following = LATCH.get((self.state, event))
        if following is None:
            return False
        self.state = following
        return True
