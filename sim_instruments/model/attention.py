"""Whether an instrument takes the message that arrives now, or loses it without a word."""

from __future__ import annotations

import math

from sim_instruments.model.traits import Traits


class Attention:
    """When the instrument took its last message, and until when it is busy.

    Args:
        traits: `gap_s` and `mute_while_busy` are read; may be exchanged for others.
    """

    def __init__(self, traits: Traits) -> None:
        self.traits = traits
        self._taken_s = -math.inf
        self._busy_until_s = -math.inf

    def takes(self, now_s: float) -> bool:
        """Whether a message that arrives at `now_s` is taken; the gap counts from one that is."""
        if now_s - self._taken_s < self.traits.gap_s:
            return False
        if self.traits.mute_while_busy and now_s < self._busy_until_s:
            return False
        self._taken_s = now_s
        return True

    def occupy(self, now_s: float, seconds: float) -> None:
        """Be busy for some time more, after what the instrument is busy with already."""
        self._busy_until_s = max(self._busy_until_s, now_s) + seconds
