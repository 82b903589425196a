"""`SafetyAwareDispatcher`: the one coroutine that owns a link."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from pytest_safetyq.dispatcher.exchange import Exchange
from pytest_safetyq.dispatcher.gate import Gate
from pytest_safetyq.dispatcher.history import History, Listener, StormLog, log
from pytest_safetyq.dispatcher.loan import Loan, Transact
from pytest_safetyq.dispatcher.reply import Reply
from pytest_safetyq.dispatcher.request import check_settings, make_command, valid_budget
from pytest_safetyq.dispatcher.worker import Worker
from pytest_safetyq.errors import LinkLost, Preempted
from pytest_safetyq.links import CallbackLink, Link
from pytest_safetyq.scheduling import Command, Latch, Priority, Scheduler, TransactionRecord

T = TypeVar("T")


class SafetyAwareDispatcher:
    """Runs commands on one link, the most urgent first; a transaction is never interleaved.

    A SAFETY command waits for at most the rest of the one transaction in flight and for the
    SAFETY commands ahead of it, whatever the backlog. Use it inside one event loop:
    ``async with SafetyAwareDispatcher(read, write) as dispatcher: ...``.

    Args:
        read_callback: Returns the reply to the last message.
        write_callback: Sends one message.
        max_depth: How many commands other than SAFETY may wait.
        tau_age: Seconds of waiting that raise a command by one level, up to ``AGE_FLOOR``;
            zero or less switches aging off.
        inter_command_delay: Seconds between each write and its read; part of the budget.
        coalesce_s: Seconds for which a successful SAFETY command covers its repeats.
        history: How many `TransactionRecord` are kept.
        name: The instrument's name in records, logs and errors.

    Raises:
        ValueError: A number is out of its range.
    """

    def __init__(
        self,
        read_callback: Callable[[], Awaitable[bytes]],
        write_callback: Callable[[bytes], Awaitable[None]],
        *,
        max_depth: int = 256,
        tau_age: float = 2.0,
        inter_command_delay: float = 0.0,
        coalesce_s: float = 0.05,
        history: int = 4096,
        name: str = "instrument",
    ) -> None:
        check_settings(
            max_depth=max_depth,
            tau_age=tau_age,
            inter_command_delay=inter_command_delay,
            coalesce_s=coalesce_s,
            history=history,
        )
        self.name = name
        self._coalesce_s = coalesce_s
        self._delay_s = inter_command_delay
        self._scheduler = Scheduler(max_depth=max_depth, tau_age_s=tau_age, coalesce_s=coalesce_s)
        self._history = History(name, history)
        self._storm = StormLog(name)
        exchange = Exchange(name, CallbackLink(read_callback, write_callback), inter_command_delay)
        self._worker = Worker(name, self._scheduler, exchange, self._history, self._storm)
        self._gate = Gate(name, self._scheduler, self._worker, self._history)
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def on(cls, link: Link, **settings: Any) -> Self:
        """Return a dispatcher that owns ``link``.

        Args:
            link: The link; the dispatcher doesn't close it.
            **settings: The keyword arguments of the class.
        """
        dispatcher = cls(link.read, link.write, **settings)
        dispatcher._worker.exchange = Exchange(dispatcher.name, link, dispatcher._delay_s)
        return dispatcher

    async def start(self) -> None:
        """Start to run commands; those submitted earlier are served first.

        Raises:
            RuntimeError: It was started before, or stopped: a dispatcher has one life.
        """
        if self._task is not None:
            raise RuntimeError(f"{self.name}: the dispatcher was started before")
        if self._gate.closed is not None:
            raise RuntimeError(f"{self.name}: the dispatcher was stopped; make a new one")
        loop = self._gate.loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._worker.run(), name=f"safetyq {self.name}")
        self._task.add_done_callback(self._worker_ended)

    async def stop(self) -> None:
        """Finish the transaction in flight, send the SAFETY commands that wait, cancel the rest.

        One that was never started sends nothing and cancels all; it can't be started any more.
        """
        self._worker.stopping = True
        self._gate.send_away(self._scheduler.flush(below=Priority.SAFETY))
        if self._worker.loan is not None:
            self._worker.loan.recall(Preempted(f"{self.name}: the dispatcher is stopping"))
        self._worker.wake()
        if self._task is None:
            self._gate.close(self._stopped())
        else:
            await asyncio.wait({self._task})

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def submit(
        self,
        cmd_id: str,
        payload: bytes,
        priority: Priority,
        *,
        timeout: float = 5.0,  # noqa: ASYNC109 - the budget on the wire, not of this call
        expect_reply: bool | None = None,
    ) -> asyncio.Future[bytes]:
        """Enqueue one command and return at once.

        Args:
            cmd_id: A name for it; a SAFETY command with the same name and payload as one
                that is waiting, in flight or just done is coalesced with it.
            payload: The message.
            priority: How urgent it is.
            timeout: Budget of the whole transaction (write, delay and read), in seconds.
            expect_reply: Whether a reply is read; ``None``: if the message asks a question,
                which is a ``?`` outside quoted strings.

        Returns:
            A future of the reply, ``b""`` where none is read. It fails with
            `TransactionTimeout`, or with what the link raised.

        Raises:
            BacklogFull: ``max_depth`` commands wait already; SAFETY is accepted all the same.
            EStopLatched: The instrument is tripped, and this is not SAFETY.
            LinkLost: The dispatcher has ended, or is stopping and this is not SAFETY.
        """
        return self.enqueue(cmd_id, payload, priority, timeout=timeout, expect_reply=expect_reply)

    def enqueue(
        self,
        cmd_id: str,
        payload: bytes,
        priority: Priority,
        *,
        timeout: float = 5.0,
        expect_reply: bool | None = None,
        submitted_s: float | None = None,
    ) -> Reply:
        """Do what `submit` does, for callers that have come a way.

        Args:
            cmd_id: As for `submit`.
            payload: As for `submit`.
            priority: As for `submit`.
            timeout: As for `submit`.
            expect_reply: As for `submit`.
            submitted_s: When the command set out, in another process perhaps; latencies
                are counted from there.
        """
        now = time.monotonic()
        set_out_s = now if submitted_s is None else min(submitted_s, now)
        command = make_command(
            cmd_id, payload, priority, timeout, expect_reply, submitted_s=set_out_s
        )
        reply = command.ticket = Reply(loop=asyncio.get_running_loop())
        twin = self._gate.admit(command, now)
        if twin is None:
            reply.on_cancel = lambda: self._gate.withdraw(command)
        else:
            self._storm.repeated(twin)
            if twin.state == "ended":
                reply.record = self._history.add(command, "coalesced", finished_s=now)
                reply.settle(twin.ticket.outcome)
                reply.get_loop().call_later(self._coalesce_s, self._storm.over, twin)
        return reply

    async def abort_low_priority(self, *, below: Priority = Priority.CONTROL) -> int:
        """Cancel the waiting commands whose base priority is less urgent than ``below``.

        Returns:
            How many were cancelled.
        """
        aborted = self._scheduler.flush(below=below)
        self._gate.send_away(aborted)
        return len(aborted)

    async def run_job(
        self,
        job: Callable[[Transact], Awaitable[T]],
        priority: Priority,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is enforced with asyncio.timeout
    ) -> T:
        """Run ``job(txn)``, several transactions with nothing else in between.

        Args:
            job: An async callable; it is given `Transact`.
            priority: How urgent the job is.
            timeout: Budget of the whole job in seconds, from when it has the link; ``None``:
                unlimited.

        Returns:
            What ``job`` returns.

        Raises:
            Preempted: Something more urgent was submitted; raised in the job by its next
                transaction, and here.
            EStopLatched: The instrument is tripped, or was while the job ran or waited.
            TransactionTimeout: ``timeout`` ran out.
            BacklogFull: As for `submit`.
        """
        name = getattr(job, "__qualname__", type(job).__qualname__)
        command = Command(
            name,
            b"",
            Priority(priority),
            timeout_s=None if timeout is None else valid_budget(timeout),
            expects_reply=False,
            submitted_s=time.monotonic(),
            is_job=True,
        )
        loan = command.ticket = Loan(command, self._worker.wake)
        self._gate.admit(command, command.submitted_s)
        try:
            return await loan.run(job, timeout)
        finally:
            self._gate.withdraw(command)

    async def trip(self, reason: str) -> int:
        """Flush everything but SAFETY, and refuse it from now on.

        What is flushed fails with `EStopLatched`.

        Returns:
            How many commands were flushed.
        """
        flushed = self._scheduler.trip(reason)
        refusal = self._gate.refusal()
        self._gate.send_away(flushed, refusal)
        loan = self._worker.loan
        if loan is not None and loan.job.priority is not Priority.SAFETY:
            loan.recall(refusal)
        self._worker.wake()
        return len(flushed)

    def rearm(self, reason: str) -> None:
        """Release the latch; nothing is switched on by it.

        Whoever calls this on a dispatcher of their own answers for the safe state; a bench
        rearms only after it was read back.
        """
        self._scheduler.rearm()
        log.info("%s: rearmed (%s)", self.name, reason)

    @property
    def latch(self) -> Latch:
        """The latch, with its state and the reason of the last trip."""
        return self._scheduler.latch

    @property
    def latched(self) -> bool:
        """Whether everything but SAFETY is refused."""
        return self._scheduler.latch.latched

    @property
    def running_priority(self) -> Priority | None:
        """The priority of the transaction in flight, or None."""
        command = self._worker.in_flight
        return None if command is None else command.priority

    @property
    def pending(self) -> int:
        """How many commands wait."""
        return len(self._scheduler)

    @property
    def pending_by_priority(self) -> dict[Priority, int]:
        """How many commands wait, by base priority."""
        return self._scheduler.waiting_by_priority()

    @property
    def dwell_s(self) -> dict[Priority, float]:
        """By base priority the longest wait, in seconds, among those that wait now."""
        return self._scheduler.dwell_s(time.monotonic())

    @property
    def safety_outstanding(self) -> bool:
        """Whether a SAFETY command waits or is in flight, whoever still waits for it."""
        waiting = self._scheduler.waiting_by_priority()[Priority.SAFETY]
        return waiting > 0 or self.running_priority is Priority.SAFETY

    @property
    def records(self) -> list[TransactionRecord]:
        """The latest records, oldest first."""
        return self._history.records

    @property
    def coalesced(self) -> int:
        """How many repeats of SAFETY commands were coalesced so far."""
        return self._storm.total

    @property
    def discarded_replies(self) -> int:
        """How many stale replies were thrown away so far."""
        return self._worker.exchange.discarded

    def worst_case_s(self, priority: Priority = Priority.SAFETY) -> float:
        """Return the bound, in seconds, on the wait of a command submitted now.

        For SAFETY: what remains of the budget in flight, the budgets of the SAFETY commands
        ahead, and what it takes to restore the link if it is lost. For the others it holds as
        long as nothing more urgent comes later. The command is taken for one that reads no
        reply; the bound of one that does also counts the restoration of a dirty link, and
        stands in its record.
        """
        exchange = self._worker.exchange
        return self._scheduler.worst_case_s(
            Priority(priority),
            time.monotonic(),
            expects_reply=False,
            condition=exchange.look(),
            resync_s=exchange.resync_budget_s,
        )

    def distrust(self, *, lost: bool) -> None:
        """Have the link resynchronised before the next reply counts; ``lost``: reopened.

        For whoever knows by the replies themselves that something is wrong with the link.
        """
        self._worker.exchange.distrust(lost=lost)

    def subscribe(self, listener: Listener) -> None:
        """Call ``listener`` with every `TransactionRecord` from now on."""
        self._history.subscribe(listener)

    def _worker_ended(self, task: asyncio.Task[None]) -> None:
        """Leave nobody waiting, however the worker came to its end."""
        if task.cancelled():
            self._gate.close(LinkLost(f"{self.name}: the dispatcher was cancelled"))
            return
        error = task.exception()
        if error is None:
            self._gate.close(self._stopped())
        else:
            end = LinkLost(f"{self.name}: the dispatcher died of {error!r}")
            self._gate.close(end, error)
            log.critical("%s", end, exc_info=error)

    def _stopped(self) -> LinkLost:
        return LinkLost(f"{self.name}: the dispatcher was stopped")
