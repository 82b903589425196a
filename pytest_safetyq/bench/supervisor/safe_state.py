"""Driving one instrument to its safe state, and knowing that it got there."""

import asyncio
import contextlib
import time

from pytest_safetyq.bench.config import Step
from pytest_safetyq.bench.reports import EStopReport, EStopStep
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.dispatcher.reply import Reply
from pytest_safetyq.errors import SafetyError
from pytest_safetyq.scheduling import LatchEvent, Priority

CMD_ID = "safe-state"

FIRST_PAUSE_S = 0.05
"""Seconds between the first attempt and the second; doubled from one to the next."""


class SafeState:
    """One instrument's way to its safe state.

    The off sequence is sent as SAFETY commands, all at once, so that nothing comes between
    them; then "off" is read back, with every confirm query. Not confirmed: the sequence is sent
    again, with the link resynchronised first, and at last reopened.

    Two requests at the same time are one: the second waits for the outcome of the first.

    Args:
        instrument: The instrument.

    Attributes:
        last: The latest report, or None.
    """

    def __init__(self, instrument: OwnedInstrument) -> None:
        self._instrument = instrument
        self._running: asyncio.Task[EStopReport] | None = None
        self.last: EStopReport | None = None

    @property
    def bound_s(self) -> float:
        """Seconds that `enter` takes at the worst, if it begins now.

        That is with all attempts, each command to the end of its budget and the link restored
        before each, after what has the link or is ahead of it now.
        """
        profile, instrument = self._instrument.profile, self._instrument
        commands = len(profile.off) + len(profile.confirms)
        attempt_s = commands * instrument.transaction_bound_s + profile.settle_s
        pauses_s = sum(_pause_s(attempt) for attempt in range(2, profile.attempts + 1))
        return instrument.safety_bound_s + profile.attempts * attempt_s + pauses_s

    async def enter(self, reason: str, submitted_s: float) -> EStopReport:
        """Trip the instrument, drive it to its safe state, and return how it went.

        It is always tripped: a command that waits, or that comes between the off sequence
        and its readback, could switch the output on again.

        Args:
            reason: Why.
            submitted_s: When it was asked for, monotonic.
        """
        await self._instrument.dispatcher.trip(reason)
        if self._running is None:
            self._running = asyncio.create_task(self._enter(reason, submitted_s))
        # Whoever asked may be gone before it is done; it goes on all the same.
        return await asyncio.shield(self._running)

    async def _enter(self, reason: str, submitted_s: float) -> EStopReport:
        try:
            report = await self._attempts(reason, submitted_s)
        finally:
            self._running = None
        if report.confirmed:
            self._instrument.dispatcher.latch.apply(LatchEvent.CONFIRM)
        self.last = report
        return report

    async def _attempts(self, reason: str, submitted_s: float) -> EStopReport:
        steps: list[EStopStep] = []
        attempts = 0
        confirmed_s: float | None = None
        profile = self._instrument.profile
        while profile.off and confirmed_s is None and attempts < profile.attempts:
            attempts += 1
            if attempts > 1:
                # The last attempt gets a new session: everything else has been tried.
                self._instrument.dispatcher.distrust(lost=attempts == profile.attempts)
                # Errors can come back at once: a glitch must not use up all attempts.
                await asyncio.sleep(_pause_s(attempts))
            steps += await self._switch_off(attempts, submitted_s)
            await asyncio.sleep(profile.settle_s)
            answers, confirmed_s = await self._read_back(attempts, submitted_s)
            steps += answers
        first = steps[0] if steps else None
        return EStopReport(
            instrument=self._instrument.name,
            confirmed=confirmed_s is not None or not profile.off,
            dispatch_latency_s=None if first is None else first.dispatch_latency_s,
            confirmed_latency_s=None if confirmed_s is None else confirmed_s - submitted_s,
            bound_s=0.0 if first is None else first.bound_s,
            attempts=attempts,
            steps=tuple(steps),
            reason=reason,
        )

    async def _switch_off(self, attempt: int, submitted_s: float) -> list[EStopStep]:
        sent = [
            (step, self._submit(step, f"{CMD_ID} {attempt}.{number}", submitted_s))
            for number, step in enumerate(self._instrument.profile.off, 1)
        ]
        return [await self._outcome(step, reply, attempt) for step, reply in sent]

    async def _read_back(
        self, attempt: int, submitted_s: float
    ) -> tuple[list[EStopStep], float | None]:
        """Ask for every confirmation; return the steps, and when all had confirmed, or None."""
        confirms = self._instrument.profile.confirms
        sent = [
            (step, self._submit(step, f"{CMD_ID} {attempt}.confirm {number}", submitted_s))
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
        first = cmd_id == f"{CMD_ID} 1.1"
        try:
            return self._instrument.dispatcher.enqueue(
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
        )


def _pause_s(attempt: int) -> float:
    """Return the seconds to wait before the second or a later attempt."""
    return FIRST_PAUSE_S * 2.0 ** min(attempt - 2, 4)
