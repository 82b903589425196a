"""The link on loan to a job, for several transactions with nothing in between."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from pytest_safetyq.dispatcher.reply import Reply
from pytest_safetyq.dispatcher.request import make_command
from pytest_safetyq.errors import EStopLatched, Preempted, SafetyError, TransactionTimeout
from pytest_safetyq.scheduling import Command, Outcome

T = TypeVar("T")


class Transact(Protocol):
    """What a job is given: runs one transaction while the job has the link."""

    async def __call__(
        self,
        payload: bytes,
        *,
        timeout: float = 5.0,  # noqa: ASYNC109 - the budget on the wire
        expect_reply: bool | None = None,
    ) -> bytes:
        """Run one transaction; ``timeout`` is its budget in seconds."""


class Loan:
    """One job's claim on the link, from the queue to its return.

    The job itself runs in the task of whoever called ``run_job``; only its transactions
    are executed by the dispatcher. A job that thinks between two transactions therefore
    never holds the link against something more urgent: it is recalled, and finds out when
    it asks for its next transaction.

    Args:
        job: The command that stands for the job.
        wake: Wakes the dispatcher.

    Attributes:
        granted: Done when the job has the link.
        requests: The transactions that the job has asked for and not yet got.
        ended: How the job has ended, or None.
    """

    def __init__(self, job: Command, wake: Callable[[], None]) -> None:
        self.job = job
        self.granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.requests: deque[Command] = deque()
        self.ended: Outcome | None = None
        self._wake = wake
        self._recall: SafetyError | None = None
        self._refused = False

    @property
    def recalled(self) -> bool:
        """Whether the job has lost the link."""
        return self._recall is not None

    def recall(self, reason: SafetyError) -> None:
        """Take the link back: waiting and later requests fail with ``reason``."""
        if self._recall is not None or self.ended is not None:
            return
        self._recall = reason
        if not self.granted.done():
            self.granted.set_exception(reason)
            self.granted.exception()
        while self.requests:
            self.requests.popleft().ticket.settle(reason)

    async def run(self, job: Callable[[Transact], Awaitable[T]], timeout_s: float | None) -> T:
        """Wait for the link, then run ``job`` in the caller's task within ``timeout_s`` seconds.

        Raises:
            TransactionTimeout: The budget ran out.
            SafetyError: The link was taken back.
        """
        ended: Outcome = "error"
        try:
            await self.granted
            result = await within_budget(job(self._transact), self.job.cmd_id, timeout_s)
            if self._recall is not None and self._refused:
                raise type(self._recall)(*self._recall.args)  # whatever the job made of it
            ended = "ok"
        except TransactionTimeout:
            ended = "timeout"
            raise
        except asyncio.CancelledError:
            ended = "cancelled"
            raise
        except (Preempted, EStopLatched):
            ended = "preempted"
            raise
        finally:
            self.give_back(ended)
        return result

    async def _transact(
        self,
        payload: bytes,
        *,
        timeout: float = 5.0,  # noqa: ASYNC109 - the budget on the wire
        expect_reply: bool | None = None,
    ) -> bytes:
        job, now = self.job, time.monotonic()
        command = make_command(
            job.cmd_id, payload, job.priority, timeout, expect_reply, submitted_s=now
        )
        reply = command.ticket = Reply(loop=asyncio.get_running_loop())
        self._request(command)
        try:
            return await reply
        except Preempted:
            self._refused = True  # broken off: the job is over, whatever it makes of this
            raise

    def _request(self, command: Command) -> None:
        """Ask for a transaction.

        Raises:
            SafetyError: The job has lost the link, for the reason it was recalled.
            Preempted: The job has ended or was cancelled, and uses its ``txn`` all the same.
        """
        if self._recall is not None:
            self._refused = True
            raise type(self._recall)(*self._recall.args)
        task = asyncio.current_task()
        if self.ended is not None or (task is not None and task.cancelling()):
            raise Preempted(f"{self.job.cmd_id}: the job has ended; it has no link any more")
        self.requests.append(command)
        self._wake()

    def give_back(self, ended: Outcome) -> None:
        """End the loan; ``ended`` is how the job has ended."""
        self.ended = ended
        self._wake()


async def within_budget(job: Awaitable[T], name: str, timeout_s: float | None) -> T:
    """Await ``job`` within ``timeout_s`` seconds; None: without a limit.

    Raises:
        TransactionTimeout: The budget ran out; a timeout of the job's own passes through.
    """
    try:
        async with asyncio.timeout(timeout_s) as budget:
            return await job
    except TimeoutError as error:
        if budget.expired() and not isinstance(error, SafetyError):
            message = f"{name} did not end within its budget of {timeout_s:g} s"
            raise TransactionTimeout(message) from error
        raise
