"""The gate: who is let in, and what those are told who are not run."""

import asyncio
import time

from pytest_safetyq.dispatcher.history import History
from pytest_safetyq.dispatcher.worker import Worker
from pytest_safetyq.errors import (
    BacklogFull,
    EStopLatched,
    LinkLost,
    Preempted,
    SafetyError,
)
from pytest_safetyq.scheduling import Command, Outcome, Priority, Scheduler, Verdict


class Gate:
    """Lets commands in to the scheduler, and sends those away that will not be run.

    Args:
        name: The instrument's name.
        scheduler: Decides who may enter.
        worker: Runs those that were let in.
        history: Is told of those that are sent away.

    Attributes:
        loop: The event loop that the dispatcher runs in; None: not started yet.
        closed: Why nobody is let in any more, or None.
    """

    def __init__(self, name: str, scheduler: Scheduler, worker: Worker, history: History) -> None:
        self._name = name
        self._scheduler = scheduler
        self._worker = worker
        self._history = history
        self.loop: asyncio.AbstractEventLoop | None = None
        self.closed: LinkLost | None = None

    def admit(self, command: Command, now: float) -> Command | None:
        """Submit ``command``; return the one that it repeats, if any.

        Raises:
            BacklogFull, EStopLatched, LinkLost: It was not accepted.
            RuntimeError: This is not the loop that the dispatcher runs in.
        """
        if self.closed is not None:
            raise LinkLost(str(self.closed)) from self.closed.__cause__
        if self.loop is not None and asyncio.get_running_loop() is not self.loop:
            raise RuntimeError(f"{self._name}: the dispatcher runs in another event loop")
        if self._worker.stopping and command.priority is not Priority.SAFETY:
            self._history.add(command, "refused", finished_s=now)
            raise LinkLost(f"{self._name}: the dispatcher is stopping; only SAFETY is accepted")
        exchange = self._worker.exchange
        verdict, twin = self._scheduler.submit(
            command, now, exchange.look(), exchange.resync_budget_s
        )
        if verdict is Verdict.ENQUEUED:
            self._worker.make_way(command)
        elif verdict is not Verdict.COALESCED:
            self._history.add(command, "refused", finished_s=now)
            if verdict is Verdict.LATCHED:
                raise self.refusal()
            waiting = self._scheduler.depth
            raise BacklogFull(
                f"{self._name}: {waiting} commands wait; {command.cmd_id} was refused"
            )
        return twin

    def refusal(self) -> EStopLatched:
        """Return what a tripped instrument answers."""
        reason = self._scheduler.latch.reason or "no reason given"
        return EStopLatched(f"{self._name} is tripped ({reason}); only SAFETY is accepted")

    def withdraw(self, command: Command) -> None:
        """Take ``command`` out if it still waits: nobody waits for it any more."""
        if command.state == "waiting" and self._scheduler.withdraw(command):
            self._history.add(command, "cancelled", finished_s=time.monotonic())

    def send_away(self, commands: list[Command], reason: SafetyError | None = None) -> None:
        """Tell the owners of commands that were taken out; None: cancel them."""
        outcome: Outcome = "cancelled" if reason is None else "refused"
        now = time.monotonic()
        for command in commands:
            if command.is_job:
                command.ticket.recall(reason or Preempted(f"{command.cmd_id} was cancelled"))
            else:
                command.ticket.settle(reason)
            self._history.add(command, outcome, finished_s=now)

    def close(self, end: LinkLost, error: BaseException | None = None) -> None:
        """Let nobody in any more, and leave nobody waiting.

        Args:
            end: What later submissions are told.
            error: What the dispatcher died of; None: it came to its end in peace, and what
                waits is cancelled.
        """
        end.__cause__ = error
        self.closed = end
        self.send_away(self._scheduler.clear(), None if error is None else end)
