"""One pair of terminals and what is wired to them, as time passes."""

from __future__ import annotations

import math

from sim_instruments.model.drive import Drive, Fall, OperatingPoint
from sim_instruments.model.loads import Load
from sim_instruments.model.loads.load import MemorylessLoad


class Terminals:
    """Brings a load to the present under the drive that was in force, or under a source's fall.

    Args:
        load: what is wired to them, in its first state.
    """

    def __init__(self, load: Load) -> None:
        self._load = load
        self._now_s = -math.inf
        self._fall: Fall | None = None
        self._fall_began_s = -math.inf

    @property
    def timeless(self) -> bool:
        """Whether nothing changes here as long as the drive stays the same."""
        return self._fall is None and isinstance(self._load, MemorylessLoad)

    def advance(self, drive: Drive, now_s: float) -> None:
        """Let the time pass until `now_s`: the rest of a fall, if there is one, then `drive`."""
        if self._fall is not None:
            fall_ends_s = self._fall_began_s + self._fall.time_s
            if now_s < fall_ends_s:
                self._load.fall(self._fall, now_s - self._fall_began_s)
            else:
                self._load.fall(self._fall, self._fall.time_s)
                self._fall = None
            self._now_s = min(now_s, fall_ends_s)
        # There was no time before the first call.
        elapsed_s = now_s - self._now_s if self._now_s > -math.inf else 0.0
        if elapsed_s > 0:
            self._load.advance(drive, elapsed_s)
        self._now_s = now_s

    def point(self, drive: Drive) -> OperatingPoint:
        """What stands here: under the fall while it lasts, else under `drive`."""
        if self._fall is not None:
            return self._load.fall(self._fall, self._now_s - self._fall_began_s)
        return self._load.point(drive)

    def begin_fall(self, fall: Fall, now_s: float) -> None:
        """Begin a fall; it takes the place of one that lasts."""
        self._fall = fall
        self._fall_began_s = self._now_s = now_s

    def end_fall(self) -> None:
        """Forget the fall: the output is on again."""
        self._fall = None
