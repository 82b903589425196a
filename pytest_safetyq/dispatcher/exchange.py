"""One transaction at a time on one link, each against its own deadline.

The condition of the link is the table below. An exchange that doesn't come to its end, for
whatever reason, leaves the link DIRTY (a reply may still come) or, where the message may
have been cut short or the path is gone, LOST.
"""

import asyncio
import time
from collections.abc import Coroutine
from enum import Enum
from typing import Any, TypeVar

from pytest_safetyq.errors import LinkLost, TransactionTimeout
from pytest_safetyq.links import Link

T = TypeVar("T")

CANCEL_GRACE_S = 0.02
"""Seconds that a cancelled call of a link gets to return before it is left behind."""


class Condition(Enum):
    """What may be done on the link as it is."""

    CLEAN = "clean"  # everything
    DIRTY = "dirty"  # write, but don't trust a reply before resynchronising
    LOST = "lost"  # nothing before resynchronising


class Exchange:
    """Owns the link: nothing else calls it.

    Args:
        link: The link.
        delay_s: Seconds between a write and its read; part of the transaction's budget.

    Attributes:
        condition: The condition of the link.
        dispatched_s: When the latest message was handed to the link, or None.
        written_s: When the message of the latest transaction was written, or None.
        discarded: How many stale replies have been thrown away so far.
    """

    def __init__(self, link: Link, delay_s: float) -> None:
        self._link = link
        self._delay_s = delay_s
        self._owed = 0
        self._stray: asyncio.Task[Any] | None = None
        self.condition = Condition.CLEAN
        self.dispatched_s: float | None = None
        self.written_s: float | None = None
        self.discarded = 0

    @property
    def resync_budget_s(self) -> float:
        """Seconds that `restore` may take at the most."""
        return self._link.resync_budget_s

    def must_restore(self, *, expects_reply: bool) -> bool:
        """Whether the link must be restored before such a transaction."""
        if self.condition is Condition.DIRTY:
            return expects_reply
        return self.condition is Condition.LOST

    def distrust(self, *, lost: bool) -> None:
        """Take the link for dirty, or for lost."""
        if lost:
            self.condition = Condition.LOST
        elif self.condition is Condition.CLEAN:
            self.condition = Condition.DIRTY

    async def transact(self, payload: bytes, *, expects_reply: bool, budget_s: float) -> bytes:
        """Write ``payload``, wait, and read the reply if there is to be one.

        Raises:
            TransactionTimeout: ``budget_s`` ran out before all of that was done.
            Exception: Whatever the link raised.
        """
        self.dispatched_s = self.written_s = None
        self._owed += expects_reply
        self._link.deadline_s = time.monotonic() + budget_s
        try:
            reply = await self._within(self._converse(payload, expects_reply), budget_s)
        except BaseException as error:
            self._judge(error, expects_reply=expects_reply)
            if isinstance(error, TimeoutError) and not isinstance(error, TransactionTimeout):
                raise TransactionTimeout(self._overdue(payload, budget_s)) from error
            raise
        self._owed -= expects_reply
        return reply

    async def restore(self) -> None:
        """Resynchronise the link.

        Raises:
            LinkLost: It can't be done; the link stays as it is.
        """
        budget_s = self.resync_budget_s
        if self._stray is not None:
            await asyncio.wait({self._stray}, timeout=budget_s)
            if not self._stray.done():
                raise LinkLost("an earlier call of the link has not returned yet")
        lost = self.condition is Condition.LOST
        call = self._link.resynchronise(owed=self._owed, lost=lost)
        try:
            self.discarded += await self._within(call, budget_s + CANCEL_GRACE_S)
        except TimeoutError as error:
            raise LinkLost(f"not resynchronised within {budget_s:g} s") from error
        except LinkLost:
            self.condition = Condition.LOST
            raise
        self._owed = 0
        self.condition = Condition.CLEAN

    async def _converse(self, payload: bytes, expects_reply: bool) -> bytes:
        self.dispatched_s = time.monotonic()
        await self._link.write(payload)
        self.written_s = time.monotonic()
        if self._delay_s > 0:
            await asyncio.sleep(self._delay_s)
        return await self._link.read() if expects_reply else b""

    async def _within(self, call: Coroutine[Any, Any, T], budget_s: float) -> T:
        """Run ``call`` in a task of its own, so that it can be left behind.

        A timeout around the call itself would wait for as long as the call refuses to be
        cancelled; and a cancellation meant for the caller could be swallowed in it.
        """
        task = asyncio.create_task(call)
        try:
            await asyncio.wait({task}, timeout=budget_s)
        except asyncio.CancelledError:
            await self._abandon(task)
            raise
        if not task.done():
            await self._abandon(task)
            raise TimeoutError
        if task.cancelled():
            raise LinkLost("a call of the link was cancelled from inside")
        return task.result()

    async def _abandon(self, task: asyncio.Task[Any]) -> None:
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_GRACE_S)
        if task.done():
            if not task.cancelled() and isinstance(task.exception(), ConnectionError):
                self.condition = Condition.LOST
        else:
            self._stray = task
            task.add_done_callback(self._stray_returned)

    def _stray_returned(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled():
            task.exception()
        if self._stray is task:
            self._stray = None

    def _judge(self, error: BaseException, *, expects_reply: bool) -> None:
        """Give the link its condition after ``error``."""
        cut_short = self.written_s is None
        if self.condition is Condition.LOST:
            return
        if cut_short or self._stray is not None or isinstance(error, ConnectionError):
            self.condition = Condition.LOST
        elif expects_reply:
            self.condition = Condition.DIRTY

    def _overdue(self, payload: bytes, budget_s: float) -> str:
        stage = "was not written" if self.written_s is None else "got no reply"
        return f"{payload!r} {stage} within its budget of {budget_s:g} s"
