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
        self._open: dict[tuple[str, bytes], Command] = {}
        self._latest: tuple[Command, float] | None = None

    def twin_of(self, command: Command, now: float) -> Command | None:
        """Return the command whose outcome the SAFETY ``command`` shares, or None."""
        if command.is_job:
            return None
        twin = self._open.get(command.key)
        if twin is not None:
            return twin
        if self._latest is not None:
            latest, finished_s = self._latest
            if latest.key == command.key and now - finished_s < self._window_s:
                return latest
        return None

    def opened(self, command: Command) -> None:
        """Note that ``command`` waits from now on."""
        if command.priority is Priority.SAFETY and not command.is_job:
            self._open[command.key] = command

    def sent(self) -> None:
        """Note that something goes to the instrument: earlier successes cover nothing more."""
        self._latest = None

    def finished(self, command: Command, now: float, *, succeeded: bool) -> None:
        """Note the end of ``command``."""
        if command.priority is Priority.SAFETY and self._open.get(command.key) is command:
            del self._open[command.key]
            if succeeded:
                self._latest = (command, now)
