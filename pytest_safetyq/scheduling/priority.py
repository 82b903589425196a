"""The four priorities, and how waiting raises them."""

from enum import IntEnum


class Priority(IntEnum):
    """How urgent a command is; the lower number goes first."""

    SAFETY = 0
    CONTROL = 1
    QUERY = 2
    POLL = 3


_BY_NUMBER = tuple(Priority)  # calling the enum to look one up costs as much as a whole decision

AGE_FLOOR = Priority.CONTROL
"""The most urgent level that waiting alone can reach: nothing ages into SAFETY."""


def effective_priority(base: Priority, waited_s: float, tau_age_s: float) -> Priority:
    """Return the priority of a command that has waited for ``waited_s`` seconds.

    A command rises by one level for every ``tau_age_s`` seconds it waits, up to
    ``AGE_FLOOR``. SAFETY is above the floor and stays where it is.

    Args:
        base: The priority it was submitted with.
        waited_s: Seconds since it was submitted; never negative.
        tau_age_s: Seconds per level; zero or less switches aging off.
    """
    if base <= AGE_FLOOR or tau_age_s <= 0 or waited_s < tau_age_s:
        return base
    levels = waited_s / tau_age_s
    if levels >= base - AGE_FLOOR:
        return AGE_FLOOR
    return _BY_NUMBER[base - int(levels)]
