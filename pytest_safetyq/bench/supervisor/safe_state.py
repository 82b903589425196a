"""Driving one instrument to its safe state, and knowing that it got there."""

import asyncio
import math

from pytest_safetyq.bench.reports import EStopReport, EStopStep
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.off_sequence import OffSequence
from pytest_safetyq.scheduling import LatchEvent

FIRST_PAUSE_S = 0.05
"""Seconds between the first attempt and the second; doubled from one to the next."""


class SafeState:
    """One instrument's way to its safe state.

    The off sequence is sent as SAFETY commands, all at once, so that nothing comes between
    them; then "off" is read back, with every confirm query. Not confirmed: the sequence is sent
    again, with the link resynchronised first, and at last reopened.

    Two requests at the same time are one: the second waits for the outcome of the first.

    Where a transaction is in flight and the instrument has an express session, the sequence
    goes out there as well, at once. It isn't enough by itself: what is in flight may switch on
    when its turn comes, so the last word has the link that it is on.

    Args:
        instrument: The instrument.

    Attributes:
        last: The latest report, or None.
    """

    def __init__(self, instrument: OwnedInstrument) -> None:
        self._instrument = instrument
        self._sequence = OffSequence(instrument, instrument.dispatcher)
        self._express = (
            None
            if instrument.express is None
            else OffSequence(instrument, instrument.express.dispatcher, by_express=True)
        )
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
        overtaking = self._overtake(submitted_s)
        steps, attempts, confirmed_s = await self._by_link(submitted_s)
        overtook = [] if overtaking is None else await overtaking
        first = min([*overtook[:1], *steps[:1]], key=_latency_s, default=None)
        steps = [*overtook, *steps]
        if self._express is not None and attempts and confirmed_s is None:
            # Nothing is in flight on the link any more: now the express session's word counts.
            last, confirmed_s = await self._express.once(attempts + 1, submitted_s)
            steps += last
        return EStopReport(
            instrument=self._instrument.name,
            confirmed=confirmed_s is not None or not self._instrument.profile.off,
            dispatch_latency_s=None if first is None else first.dispatch_latency_s,
            confirmed_latency_s=None if confirmed_s is None else confirmed_s - submitted_s,
            bound_s=0.0 if first is None else first.bound_s,
            attempts=attempts,
            steps=tuple(steps),
            reason=reason,
        )

    def _overtake(self, submitted_s: float) -> asyncio.Task[list[EStopStep]] | None:
        """Begin the off sequence on the express session, if it would wait on the link."""
        express = self._express
        if express is None or self._instrument.dispatcher.worst_case_s() <= 0:
            return None

        async def overtake() -> list[EStopStep]:
            steps, _not_the_last_word = await express.once(1, submitted_s)
            return steps

        return asyncio.create_task(overtake())

    async def _by_link(self, submitted_s: float) -> tuple[list[EStopStep], int, float | None]:
        """Try on the link until "off" is read back; return steps, attempts, and when it was."""
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
            tried, confirmed_s = await self._sequence.once(attempts, submitted_s)
            steps += tried
        return steps, attempts, confirmed_s


def _latency_s(step: EStopStep) -> float:
    return math.inf if step.dispatch_latency_s is None else step.dispatch_latency_s


def _pause_s(attempt: int) -> float:
    """Return the seconds to wait before the second or a later attempt."""
    return FIRST_PAUSE_S * 2.0 ** min(attempt - 2, 4)
