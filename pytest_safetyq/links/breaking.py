"""Breaking off a call that a session is blocked in: what it is, whatever the backend."""

from typing import Literal, Protocol

Interrupt = Literal["none", "device_clear", "abort"]
"""How a transaction in flight may be broken off."""

BREAK_S = 0.05
"""Seconds that breaking a call off may take."""

RENEW_S = 0.2
"""Seconds that a new session may take, where breaking off has failed or costs the old one."""


class Breaker(Protocol):
    """Breaks off what one session is blocked in, called from another thread than its own.

    Attributes:
        keeps_session: Whether the session is good for more afterwards.
    """

    keeps_session: bool

    def break_off(self, until_s: float) -> None:
        """Have the call in progress end, until the monotonic time ``until_s``; blocks.

        Raises:
            Exception: It can't be done; of whatever kind.
        """

    def close(self) -> None:
        """Close what was opened for this."""
