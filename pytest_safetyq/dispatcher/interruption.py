"""Breaking off one transaction: the link's part of it, within the link's own deadline."""

import asyncio
import contextlib
import time

from pytest_safetyq.links import InterruptibleLink


class Interruption:
    """Has a link free itself, and doesn't wait for it any longer than it said.

    Args:
        link: The link.
        budget_s: Seconds that it may take.
    """

    def __init__(self, link: InterruptibleLink, budget_s: float) -> None:
        self._until_s = time.monotonic() + budget_s
        self._task = asyncio.get_running_loop().create_task(link.interrupt(budget_s))

    async def succeeded(self) -> bool:
        """Wait until the link is free; return False if it is to be taken for lost."""
        try:
            await asyncio.wait({self._task}, timeout=self._until_s - time.monotonic())
        finally:
            self.give_up()
        return self._task.done() and not self._task.cancelled() and self._task.exception() is None

    def give_up(self) -> None:
        """Leave the link as it is."""
        self._task.cancel()
        self._task.add_done_callback(_forget)


def _forget(task: "asyncio.Task[None]") -> None:
    """Look at what it ended with: the link is taken for lost, and nobody else asks."""
    with contextlib.suppress(asyncio.CancelledError):
        task.exception()
