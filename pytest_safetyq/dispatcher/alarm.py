"""One timer for deadlines of which one at most is in force, and hardly any ever comes."""

import asyncio


class Alarm:
    """Sets a future at its deadline, unless it is lifted before.

    A timer for each transaction would be pushed on the loop's heap, cancelled, and found
    there again by the loop. This one stays where it is while deadlines move away from it:
    when it goes off too early, it is set anew.
    """

    __slots__ = ("_due_s", "_over", "_timer")

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._over: asyncio.Future[None] | None = None
        self._due_s = 0.0

    def set(self, over: "asyncio.Future[None]", delay_s: float) -> None:
        """Set ``over`` in ``delay_s`` seconds; what was to be set before is forgotten."""
        loop = over.get_loop()
        self._over = over
        self._due_s = due_s = loop.time() + delay_s
        if self._timer is None or self._timer.when() > due_s:
            self.cancel()
            self._timer = loop.call_at(due_s, self._goes_off)

    def lift(self) -> None:
        """Set nothing."""
        self._over = None

    def cancel(self) -> None:
        """Take the timer off the loop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _goes_off(self) -> None:
        timer, self._timer = self._timer, None
        over = self._over
        if over is None or timer is None:
            return
        if timer.when() < self._due_s:
            self._timer = over.get_loop().call_at(self._due_s, self._goes_off)
        else:
            set_once(over)


def set_once(event: "asyncio.Future[None]") -> None:
    """Set ``event``, unless it is set already."""
    if not event.done():
        event.set_result(None)
