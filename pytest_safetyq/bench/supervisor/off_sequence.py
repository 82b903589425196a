"""Sending the off sequence of a profile once, on one session, and reading back."""

import asyncio
import contextlib
import time

from pytest_safetyq.bench.config import Step
from pytest_safetyq.bench.reports import EStopStep
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.dispatcher import SafetyAwareDispatcher
from pytest_safetyq.dispatcher.reply import Reply
from pytest_safetyq.errors import SafetyError
from pytest_safetyq.scheduling import Priority


class OffSequence:
    """The off sequence of one instrument, by one of its dispatchers.

    Args:
        instrument: The instrument.
        dispatcher: By which it is sent.
        by_express: Whether that is the express session's.
    """

    def __init__(
        self,
        instrument: OwnedInstrument,
        dispatcher: SafetyAwareDispatcher,
        *,
        by_express: bool = False,
    ) -> None:
        self._instrument = instrument
        self._dispatcher = dispatcher
        self._by_express = by_express
        self._cmd_id = "safe-state by express" if by_express else "safe-state"

    async def once(self, attempt: int, submitted_s: float) -> tuple[list[EStopStep], float | None]:
        """Send all steps, wait for the output to settle, and read back.

        Args:
            attempt: The attempt that this is, from 1.
            submitted_s: When the E-stop was asked for, monotonic.

        Returns:
            What became of each command, and when "off" was read back, or None.
        """
        steps = await self._switch_off(attempt, submitted_s)
        await asyncio.sleep(self._instrument.profile.settle_s)
        answers, confirmed_s = await self._read_back(attempt, submitted_s)
        return [*steps, *answers], confirmed_s

    async def _switch_off(self, attempt: int, submitted_s: float) -> list[EStopStep]:
        sent = [
            (step, self._submit(step, f"{self._cmd_id} {attempt}.{number}", submitted_s))
            for number, step in enumerate(self._instrument.profile.off, 1)
        ]
        return [await self._outcome(step, reply, attempt) for step, reply in sent]

    async def _read_back(
        self, attempt: int, submitted_s: float
    ) -> tuple[list[EStopStep], float | None]:
        """Ask for every confirmation; return the steps, and when all had confirmed, or None."""
        confirms = self._instrument.profile.confirms
        sent = [
            (step, self._submit(step, f"{self._cmd_id} {attempt}.confirm {number}", submitted_s))
            for number, step in enumerate((Step(send=c.query, reply=True) for c in confirms), 1)
        ]
        outcomes = [await self._outcome(step, reply, attempt) for step, reply in sent]
        all_off = all(
            outcome.reply is not None and confirm.accepts(outcome.reply)
            for confirm, outcome in zip(confirms, outcomes, strict=True)
        )
        return outcomes, time.monotonic() if all_off else None

    def _submit(self, step: Step, cmd_id: str, submitted_s: float) -> Reply | Exception:
        """Submit one step; past the limits, which are for set-points of tests."""
        first = cmd_id == f"{self._cmd_id} 1.1"
        try:
            return self._dispatcher.enqueue(
                cmd_id,
                step.send.encode("latin-1"),
                Priority.SAFETY,
                timeout=self._instrument.timeout_s,
                expect_reply=True if step.reply else None,
                submitted_s=submitted_s if first else None,
            )
        except (SafetyError, ValueError) as error:
            return error  # the dispatcher has ended, or it is no text: the report says so

    async def _outcome(self, step: Step, sent: Reply | Exception, attempt: int) -> EStopStep:
        error: str | None = None
        answer: str | None = None
        latency_s: float | None = None
        bound_s = 0.0
        if isinstance(sent, Exception):
            error = str(sent)
        else:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({sent})
            if sent.cancelled() or not sent.done():
                error = "not sent: the dispatcher has ended"
            elif (failure := sent.exception()) is not None:
                error = str(failure)
            elif reply := sent.result():
                answer = reply.decode("latin-1").strip()
            if sent.record is not None:
                latency_s, bound_s = sent.record.dispatch_latency_s, sent.record.bound_s
        return EStopStep(
            instrument=self._instrument.name,
            attempt=attempt,
            command=step.send,
            reply=answer,
            error=error,
            dispatch_latency_s=latency_s,
            bound_s=bound_s,
            by_express=self._by_express,
        )
