"""One daemon thread per link, for calls that block.

An executor's threads are joined when the interpreter exits, and its calls can't be given
up: a VISA call that never returns would hold the exit for ever. A daemon thread is left
behind, together with the session that it is stuck in.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from pytest_safetyq.errors import LinkLost

T = TypeVar("T")

_Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class DaemonThread:
    """Runs blocking calls one after the other.

    Args:
        name: The thread's name, for whoever looks at a stack dump.
    """

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def is_busy(self) -> bool:
        """Whether a call has been handed over and has not returned."""
        return not self._idle.is_set()

    async def call(self, function: Callable[[], T]) -> T:
        """Return ``function()``, run in the thread.

        A cancelled call goes on in the thread; `is_busy` stays true until it returns, and what
        it returns is dropped.
        """
        return cast(T, await self._hand_over(function))

    async def settled(self, timeout_s: float) -> bool:
        """Wait until the thread is idle, for ``timeout_s`` seconds; return whether it is."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def end(self, last: Callable[[], object] | None = None) -> None:
        """Let the thread call ``last`` when it is free, if it ever is, and end."""
        if last is not None:
            self._hand_over(last)
        self._jobs.put(None)

    def _hand_over(self, function: Callable[[], object]) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._under_way += 1
        self._idle.clear()
        self._jobs.put((function, loop, future))
        return future

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, loop, future = job
            result: Any = None
            error: BaseException | None = None
            try:
                result = function()
            except Exception as caught:  # noqa: BLE001 - handed to whoever called
                error = caught
            except BaseException as caught:  # noqa: BLE001 - a driver must not end its owner
                error = LinkLost(f"the driver raised {caught!r}")
            try:
                loop.call_soon_threadsafe(self._deliver, future, result, error)
            except RuntimeError:
                return  # the loop is closed: nobody is left to tell

    def _deliver(
        self, future: "asyncio.Future[Any]", result: Any, error: BaseException | None
    ) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._idle.set()
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
