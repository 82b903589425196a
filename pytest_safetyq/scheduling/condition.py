"""The condition of a link, and what it adds to the wait of a command."""

from enum import Enum


class Condition(Enum):
    """What may be done on a link as it is."""

    CLEAN = "clean"  # everything
    DIRTY = "dirty"  # write, but don't trust a reply before resynchronising
    LOST = "lost"  # nothing before resynchronising


def recovery_s(
    condition: Condition, resync_s: float, *, expects_reply: bool, busy: bool = False
) -> float:
    """Return for how long a command may wait for its link to be restored, in seconds.

    Args:
        condition: The condition of the link now.
        resync_s: Seconds that a restoration may take, as the link declares.
        expects_reply: Whether the command reads a reply.
        busy: Whether others come before it, any of which may leave the link dirty.
    """
    if condition is Condition.LOST:
        return resync_s
    return resync_s if expects_reply and (busy or condition is Condition.DIRTY) else 0.0
