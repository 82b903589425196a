"""One transaction at a time on one link, each against its own deadline.

An exchange that doesn't come to its end, for whatever reason, leaves the link DIRTY (a reply
may still come) or, where the message may have been cut short or the path is gone, LOST.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pytest_safetyq.dispatcher.alarm import Alarm, set_once
from pytest_safetyq.dispatcher.interruption import Interruption
from pytest_safetyq.dispatcher.payload import in_words
from pytest_safetyq.errors import LinkLost, Preempted, TransactionTimeout
from pytest_safetyq.links import DeadlineLink, InterruptibleLink, Link
from pytest_safetyq.scheduling import Condition

T = TypeVar("T")

CANCEL_GRACE_S = 0.02
"""Seconds that a cancelled call of a link gets to return before it is left behind."""


class Exchange:
    """Owns the link: nothing else calls it.

    Args:
        name: The instrument's name, for errors.
        link: The link.
        delay_s: Seconds between a write and its read; part of the transaction's budget.

    Attributes:
        condition: The condition of the link.
        dispatched_s: When the latest message was handed to the link, or None.
        written_s: When the message of the latest transaction was written, or None.
        discarded: How many stale replies have been thrown away so far.
    """

    def __init__(self, name: str, link: Link, delay_s: float) -> None:
        self._name = name
        self._link = link
        # Asked once: looking a protocol up takes as long as the rest of a transaction.
        self._deadline_link = link if isinstance(link, DeadlineLink) else None
        self._interruptible_link = link if isinstance(link, InterruptibleLink) else None
        self._interruption: Interruption | None = None
        self._over: asyncio.Future[None] | None = None
        self._delay_s = delay_s
        self._owed = 0
        self._strays: set[asyncio.Task[Any]] = set()
        self._alarm = Alarm()
        self.condition = Condition.CLEAN
        self.dispatched_s: float | None = None
        self.written_s: float | None = None
        self.discarded = 0

    @property
    def resync_budget_s(self) -> float:
        """Seconds that `restore` may take at the most."""
        return self._link.resync_budget_s

    @property
    def interrupt_budget_s(self) -> float | None:
        """Seconds after which the link is free if `interrupt` is called; None: it can't be."""
        if self._interruptible_link is None:
            return None
        budget_s = self._interruptible_link.interrupt_budget_s
        return None if budget_s is None else budget_s + self._delay_s

    def look(self) -> Condition:
        """Return the condition of the link, after a look at the link itself."""
        if self._deadline_link is not None:
            if self._deadline_link.lost:
                self.condition = Condition.LOST
            elif self._deadline_link.has_unread:
                self.distrust(lost=False)
        return self.condition

    def must_restore(self, *, expects_reply: bool) -> bool:
        """Whether the link must be restored before such a transaction."""
        condition = self.look()
        if condition is Condition.DIRTY:
            return expects_reply
        return condition is Condition.LOST

    def distrust(self, *, lost: bool) -> None:
        """Take the link for dirty, or for lost."""
        if lost:
            self.condition = Condition.LOST
        elif self.condition is Condition.CLEAN:
            self.condition = Condition.DIRTY

    def rest(self) -> None:
        """Leave nothing on the loop: there will be no transaction for a long time, or ever."""
        self._alarm.cancel()

    def interrupt(self) -> None:
        """Break off the transaction in flight; `transact` raises Preempted once that is done."""
        link, over = self._interruptible_link, self._over
        if link is None or over is None or over.done():
            return  # it has ended in this turn of the loop
        budget_s = link.interrupt_budget_s
        if budget_s is None:
            return  # the path has gone meanwhile, and with it what is in flight
        self._interruption = Interruption(link, budget_s)
        set_once(over)

    async def transact(
        self,
        payload: bytes,
        *,
        expects_reply: bool,
        budget_s: float,
        at_once: Callable[[bytes], None] | None = None,
    ) -> bytes:
        """Write ``payload``, wait, and read the reply if there is to be one.

        Args:
            payload: The message.
            expects_reply: Whether a reply is read.
            budget_s: Seconds for all of it.
            at_once: Called with the reply in the turn of the loop in which it is there, one
                before this returns it; not called where that was too late.

        Returns:
            The reply; ``b""`` where none is read.

        Raises:
            TransactionTimeout: ``budget_s`` ran out before all of that was done.
            Preempted: It was broken off by `interrupt`.
            Exception: Whatever the link raised.
        """
        self.dispatched_s = self.written_s = None
        self._owed += expects_reply
        if self._deadline_link is not None:
            self._deadline_link.deadline_s = time.monotonic() + budget_s
        try:
            reply = await self._within(
                lambda: self._converse(payload, expects_reply), budget_s, at_once
            )
        except BaseException as error:
            if self._interruption is not None and not isinstance(error, Exception):
                self._interruption.give_up()
            elif self._interruption is not None:
                await self._freed(self._interruption, expects_reply=expects_reply)
                message = f"{in_words(payload)} gave way to a safety command"
                raise Preempted(f"{self._name}: {message}") from error
            self._judge(error, expects_reply=expects_reply)
            if isinstance(error, TimeoutError) and not isinstance(error, TransactionTimeout):
                raise TransactionTimeout(self._overdue(payload, budget_s)) from error
            if isinstance(error, LinkLost):
                what = f"the link was lost at {in_words(payload)} (budget {budget_s:g} s)"
                raise LinkLost(f"{self._name}: {what}: {error}") from error
            raise
        self._owed -= expects_reply
        if self._interruption is not None:  # it came too late, and must not strike what follows
            await self._freed(self._interruption, expects_reply=False)
        return reply

    async def restore(self, *, expects_reply: bool) -> None:
        """Make the link fit for the next transaction.

        One that expects no reply, an ``OUTP OFF`` above all, must not depend on reading:
        for it the path is renewed where it is lost, and stale replies stay what they are.

        Args:
            expects_reply: Whether the next transaction reads a reply.

        Raises:
            LinkLost: It can't be done; the link stays as it is.
        """
        budget_s = self.resync_budget_s
        until = time.monotonic() + budget_s
        if expects_reply and self._strays:
            _, still_out = await asyncio.wait(self._strays, timeout=budget_s)
            if still_out:
                raise LinkLost("an earlier call of the link has not returned yet")
        owed = self._owed if expects_reply else 0
        lost = self.condition is Condition.LOST
        try:
            await self._within(
                lambda: self._link.resynchronise(owed=owed, lost=lost, discard=self._discard),
                until - time.monotonic() + CANCEL_GRACE_S,
            )
        except TimeoutError as error:
            raise LinkLost(f"the link was not resynchronised within {budget_s:g} s") from error
        except ConnectionError:
            self.condition = Condition.LOST
            raise
        if expects_reply:
            self._owed = 0
        self.condition = Condition.DIRTY if self._owed else Condition.CLEAN

    def _discard(self) -> None:
        self._owed = max(0, self._owed - 1)
        self.discarded += 1

    async def _converse(self, payload: bytes, expects_reply: bool) -> bytes:
        self.dispatched_s = time.monotonic()
        await self._link.write(payload)
        self.written_s = time.monotonic()
        if self._delay_s > 0:
            await asyncio.sleep(self._delay_s)
        return await self._link.read() if expects_reply else b""

    async def _within(
        self,
        call: Callable[[], Awaitable[T]],
        budget_s: float,
        at_once: Callable[[T], None] | None = None,
    ) -> T:
        """Run ``call`` in a task of its own, so that it can be left behind.

        A timeout around the call itself would wait for as long as the call refuses to be
        cancelled; and a cancellation meant for the caller could be swallowed in it.
        """
        loop = asyncio.get_running_loop()
        self._over = over = loop.create_future()
        task = loop.create_task(_then_set(over, call, at_once))
        self._alarm.set(over, budget_s)
        try:
            await over
        except asyncio.CancelledError:
            await self._abandon(task)
            raise
        finally:
            self._over = None
            self._alarm.lift()
        if not task.done():
            await self._abandon(task)
            raise TimeoutError
        if task.cancelled():
            raise LinkLost("a call of the link was cancelled from inside")
        return task.result()

    async def _abandon(self, task: asyncio.Task[Any]) -> None:
        """Cancel ``task``, and know of it until it returns, even if this is cancelled too."""
        self._strays.add(task)
        task.add_done_callback(self._returned)
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_GRACE_S)
        if task.done() and not task.cancelled() and isinstance(task.exception(), ConnectionError):
            self.condition = Condition.LOST

    def _returned(self, stray: asyncio.Task[Any]) -> None:
        self._strays.discard(stray)
        if not stray.cancelled():
            stray.exception()  # its owner was told of the timeout; nobody else asks

    async def _freed(self, interruption: Interruption, *, expects_reply: bool) -> None:
        """Wait until the link takes a message again, and give it its condition."""
        try:
            succeeded = await interruption.succeeded()
        finally:
            self._interruption = None
        if not succeeded or self.written_s is None:
            self.condition = Condition.LOST
            return
        if expects_reply:
            self.distrust(lost=False)
        await asyncio.sleep(max(0.0, self.written_s + self._delay_s - time.monotonic()))

    def _judge(self, error: BaseException, *, expects_reply: bool) -> None:
        """Give the link its condition after ``error``."""
        if self.written_s is None or isinstance(error, ConnectionError):
            self.condition = Condition.LOST  # cut short, or gone
        elif expects_reply and self.condition is Condition.CLEAN:
            self.condition = Condition.DIRTY

    def _overdue(self, payload: bytes, budget_s: float) -> str:
        message = in_words(payload)
        stage = f"{message} was not written" if self.written_s is None else f"no reply to {message}"
        return f"{self._name}: {stage} within {budget_s:g} s"


async def _then_set(
    over: asyncio.Future[None],
    call: Callable[[], Awaitable[T]],
    at_once: Callable[[T], None] | None,
) -> T:
    """Await ``call``, and set ``over`` a turn of the loop before a done-callback could."""
    try:
        result = await call()
        if at_once is not None and not over.done():
            at_once(result)
        return result
    finally:
        set_once(over)
