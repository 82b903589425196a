"""The least time between two messages, for instruments that lose what comes sooner."""

import asyncio
import math
import time


class Pace:
    """Keeps the gap between the messages of one link, the link's own identity queries included.

    The dispatcher waits after what it sends; it doesn't know of what a link asks by itself when
    it is opened or resynchronised.

    Args:
        gap_s: Seconds from the end of one message to the beginning of the next.
    """

    def __init__(self, gap_s: float) -> None:
        self._gap_s = gap_s
        self._sent_s = -math.inf

    async def keep(self) -> None:
        """Wait until the next message may begin."""
        # Zero is by far the most frequent, and isn't worth a look at the clock.
        if self._gap_s > 0 and (wait_s := self._sent_s + self._gap_s - time.monotonic()) > 0:
            await asyncio.sleep(wait_s)

    def sent(self) -> None:
        """Note that a message has been sent."""
        if self._gap_s > 0:
            self._sent_s = time.monotonic()
