"""Which E-stops are one and the same, so that a storm of them is sent once."""

from pytest_safetyq.scheduling.command import Command
from pytest_safetyq.scheduling.priority import Priority


class Coalescing:
    """Knows the SAFETY commands that wait, are in flight, or have just succeeded.

    Args:
        window_s: For how many seconds after its success a command still covers a repeat,
            as long as nothing else was sent to the instrument since.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._open: dict[tuple[str, bytes], tuple[Command, list[Command]]] = {}
        self._latest: tuple[Command, float] | None = None

    def twin_of(self, command: Command, now: float) -> Command | None:
        """Return the command whose outcome the SAFETY ``command`` shares, or None."""
        if command.is_job:
            return None
        known = self._open.get(command.key)
        if known is not None:
            return known[0]
        if self._latest is not None:
            latest, finished_s = self._latest
            if latest.key == command.key and now - finished_s < self._window_s:
                return latest
        return None

    def opened(self, command: Command) -> None:
        """Note that the SAFETY ``command`` waits from now on."""
        if not command.is_job:
            self._open[command.key] = command, []

    def joined(self, command: Command) -> None:
        """Note that ``command`` shares the outcome of its twin, which has none yet."""
        self._open[command.key][1].append(command)

    def sent(self) -> None:
        """Note that something goes to the instrument: earlier successes cover nothing more."""
        self._latest = None

    def ended(self, command: Command, succeeded_s: float | None) -> list[Command]:
        """Note the end of ``command``; return those that share its outcome.

        Args:
            command: Any command; only messages that were opened matter here.
            succeeded_s: When it succeeded, in monotonic seconds; None: it didn't.
        """
        if command.priority is not Priority.SAFETY:
            return []
        known = self._open.get(command.key)
        if known is None or known[0] is not command:
            return []
        del self._open[command.key]
        if succeeded_s is not None:
            self._latest = command, succeeded_s
        return known[1]
