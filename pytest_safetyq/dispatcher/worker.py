"""The worker: the one coroutine that runs what the scheduler picked."""

import asyncio
import logging
import math
import time

from pytest_safetyq.dispatcher.exchange import Exchange
from pytest_safetyq.dispatcher.history import History, StormLog, log
from pytest_safetyq.dispatcher.loan import Loan
from pytest_safetyq.dispatcher.payload import in_words
from pytest_safetyq.dispatcher.reply import Reply
from pytest_safetyq.errors import LinkLost, Preempted, TransactionTimeout
from pytest_safetyq.scheduling import Command, Condition, Outcome, Priority, Scheduler, recovery_s


class Worker:
    """Takes one decision after the other and carries it out on the link.

    Args:
        name: The instrument's name.
        scheduler: Decides what is next.
        exchange: Carries out transactions.
        history: Is told how each command ended.
        storm: Counts repeated E-stops.

    Attributes:
        in_flight: The command whose transaction is in flight, or None.
        loan: The loan in force, or None.
        stopping: Set to end the worker when no SAFETY command waits any more.
    """

    def __init__(
        self, name: str, scheduler: Scheduler, exchange: Exchange, history: History, storm: StormLog
    ) -> None:
        self._name = name
        self._scheduler = scheduler
        self._history = history
        self._storm = storm
        self._wakeup: asyncio.Future[None] | None = None
        self._restoring: asyncio.Task[None] | None = None
        self.exchange = exchange
        self.in_flight: Command | None = None
        self.loan: Loan | None = None
        self.stopping = False

    async def run(self) -> None:
        """Serve commands until told to stop."""
        try:
            while True:
                command = self._scheduler.peek(time.monotonic())
                if command is not None:
                    await self._serve(command)
                elif self.stopping:
                    return
                else:
                    await self._sleep()
        finally:
            self.exchange.rest()

    def wake(self) -> None:
        """Make the worker look again: something has changed."""
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)

    def make_way(self, command: Command) -> None:
        """Let a newly submitted ``command`` go before what the worker is about.

        A loan of a less urgent job is recalled. For a SAFETY command the transaction in flight
        is broken off, if the scheduler says so; and waiting for stale replies is, if it needs no
        reply, as a dirty link still takes a message.
        """
        if (
            command.priority is Priority.SAFETY
            and self.in_flight is not None
            and self._scheduler.break_off(time.monotonic())
        ):
            self.exchange.interrupt()
        if self.loan is not None and command.priority < self.loan.job.priority:
            self.loan.recall(Preempted(f"{self.loan.job.cmd_id} gave way to {command.cmd_id}"))
        if (
            self._restoring is not None
            and command.priority is Priority.SAFETY
            and not command.expects_reply
            and self.exchange.condition is Condition.DIRTY
        ):
            self._restoring.cancel()
        self.wake()

    async def _sleep(self) -> None:
        self._wakeup = asyncio.get_running_loop().create_future()
        try:
            await self._wakeup
        finally:
            self._wakeup = None

    async def _serve(self, command: Command) -> None:
        if command.is_job:
            self._take(command)
            await self._lend(command)
        elif self.exchange.must_restore(expects_reply=command.expects_reply):
            error = await self._restore(expects_reply=command.expects_reply)
            if error is not None and command.state == "waiting":
                self._take(command)
                await self._despite(error, command)
        else:
            self._take(command)
            await self._perform(command)

    def _take(self, command: Command) -> None:
        self._scheduler.take(command)
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                "%s: %s is next, base %s, effective %s",
                self._name,
                command.cmd_id,
                command.priority.name,
                command.effective.name,
            )

    async def _despite(self, error: Exception, command: Command) -> None:
        """Go on with a command although the link could not be restored.

        A SAFETY command that needs no reply is written all the same: nothing is lost by it.
        """
        if command.priority is Priority.SAFETY and not command.expects_reply:
            await self._perform(command)
            return
        if isinstance(error, LinkLost):
            lost = LinkLost(f"{self._name}: {in_words(command.payload)} was not sent: {error}")
            lost.__cause__ = error
            error = lost
        self._end(command, "error", error)

    async def _perform(self, command: Command) -> None:
        """Carry out one transaction, whatever becomes of it."""
        assert command.timeout_s is not None
        self.in_flight = command
        self._scheduler.occupy(
            time.monotonic() + command.timeout_s,
            interrupt_s=None
            if command.priority is Priority.SAFETY
            else self.exchange.interrupt_budget_s,
        )

        def succeeded(reply: bytes) -> None:
            self._end(command, "ok", reply)

        try:
            reply = await self.exchange.transact(
                command.payload,
                expects_reply=command.expects_reply,
                budget_s=command.timeout_s,
                at_once=succeeded,
            )
        except asyncio.CancelledError:
            self._end(command, "cancelled", None)
            raise
        except TransactionTimeout as error:
            self._end(command, "timeout", error)
        except Preempted as error:
            self._end(command, "preempted", error)
        except Exception as error:  # noqa: BLE001 - it is the submitter's, and goes to them
            self._end(command, "error", error)
        except BaseException as error:  # somebody means to end the process
            self._end(command, "error", error)
            raise
        else:
            succeeded(reply)  # nothing, unless it came in the turn in which its budget ran out

    def _end(
        self, command: Command, outcome: Outcome, result: bytes | BaseException | None
    ) -> None:
        """Give the outcome to everybody who waits for it, and to the history; once."""
        if command.state == "ended":
            return
        now = time.monotonic()
        dispatched_s = written_s = None
        if self.in_flight is command:
            dispatched_s, written_s = self.exchange.dispatched_s, self.exchange.written_s
            self.in_flight = None
            self._scheduler.occupy(None)
        followers = self._scheduler.finish(command, now, succeeded=outcome == "ok")
        reply: Reply = command.ticket
        unwanted = reply.cancelled() and command.priority is not Priority.SAFETY
        reply.record = self._history.add(
            command,
            "cancelled" if unwanted else outcome,
            dispatched_s=dispatched_s,
            written_s=written_s,
            finished_s=now,
        )
        reply.settle(result)
        for follower in followers:
            follower.ticket.record = self._history.add(follower, "coalesced", finished_s=now)
            follower.ticket.settle(result)
        self._storm.over(command)

    async def _restore(self, *, expects_reply: bool) -> Exception | None:
        """Resynchronise the link; return why it failed, or None to look again."""
        self._scheduler.occupy(time.monotonic() + self.exchange.resync_budget_s)
        self._restoring = restoring = asyncio.create_task(
            self.exchange.restore(expects_reply=expects_reply)
        )
        try:
            await asyncio.wait({restoring})
        finally:
            restoring.cancel()
            self._restoring = None
            self._scheduler.occupy(None)
        if restoring.cancelled():
            return None
        error = restoring.exception()
        if error is None or isinstance(error, Exception):
            return error
        raise error

    async def _lend(self, job: Command) -> None:
        """Let a job have the link until it returns it or is recalled."""
        self.loan = loan = job.ticket
        lent_s = time.monotonic()
        until = math.inf if job.timeout_s is None else lent_s + job.timeout_s
        self._scheduler.borrowed(job, until)
        try:
            if not loan.granted.done():  # its caller may have been cancelled this very moment
                loan.granted.set_result(None)
                await self._serve_job(loan, until)
        except BaseException:
            loan.recall(LinkLost(f"{self._name}: the dispatcher has ended"))
            raise
        finally:
            self.loan = None
            now = time.monotonic()
            self._scheduler.finish(job, now, succeeded=False)
            outcome: Outcome = loan.ended or ("preempted" if loan.recalled else "cancelled")
            self._history.add(job, outcome, dispatched_s=lent_s, finished_s=now)

    async def _serve_job(self, loan: Loan, until: float) -> None:
        while loan.ended is None and not loan.recalled:
            if loan.requests:
                await self._grant(loan, until)
            else:
                await self._sleep()

    async def _grant(self, loan: Loan, until: float) -> None:
        """Carry out the next transaction that the job asks for, within the job's own budget."""
        request = loan.requests[0]
        if request.ticket.cancelled():
            loan.requests.popleft()
            return
        error: Exception | None = None
        restored_s = recovery_s(
            self.exchange.look(),
            self.exchange.resync_budget_s,
            expects_reply=request.expects_reply,
        )
        request.bound_s = max(request.bound_s, restored_s)
        if self.exchange.must_restore(expects_reply=request.expects_reply):
            error = await self._restore(expects_reply=request.expects_reply)
            if error is None:
                return
        if loan.recalled:
            return
        loan.requests.popleft()
        self._scheduler.start_for_job(request, loan.job)
        assert request.timeout_s is not None
        request.timeout_s = min(request.timeout_s, max(0.0, until - time.monotonic()))
        if error is None:
            await self._perform(request)
        else:
            await self._despite(error, request)
