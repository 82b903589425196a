"""The instruments that are open, and what is done with all of them."""

import asyncio
import logging

from pytest_safetyq.bench.reports import EStopReport, bench_report, unreported
from pytest_safetyq.bench.supervisor.estop_log import EStopLog
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.locks import ResourceLock
from pytest_safetyq.bench.supervisor.opening import open_instrument, opening_bound_s
from pytest_safetyq.bench.supervisor.safe_state import SafeState
from pytest_safetyq.bench.wire.messages import InstrumentSpec, OpenedInstrument
from pytest_safetyq.errors import LinkLost, SafeStateUnconfirmed, SafetyError
from pytest_safetyq.scheduling import LatchEvent, LatchState, TransactionRecord

log = logging.getLogger("pytest_safetyq.bench")


class Rack:
    """Holds every open instrument, one owner each.

    Attributes:
        tripped: Why the bench is tripped, or None. An instrument that is opened while it is
            starts latched.
        ending: Why the bench is on its way to be closed, or None: it stays latched then.
    """

    def __init__(self) -> None:
        self._instruments: dict[str, OwnedInstrument] = {}
        self._asked_for: dict[str, InstrumentSpec] = {}
        self._safe_states: dict[str, SafeState] = {}
        self._locks: list[ResourceLock] = []
        self._opening = asyncio.Lock()
        self._openings_s = 0.0
        self._entering: set[asyncio.Task[EStopReport]] = set()
        self.estops = EStopLog()
        self.tripped: str | None = None
        self.ending: str | None = None

    def __getitem__(self, name: str) -> OwnedInstrument:
        try:
            return self._instruments[name]
        except KeyError:
            raise LinkLost(f"{name} is not open") from None

    async def open(self, spec: InstrumentSpec, who: str = "another process") -> OwnedInstrument:
        """Return the instrument of this name, opened now if it isn't open yet.

        Args:
            spec: What to open.
            who: For whom, as others are told who find it in use.

        Raises:
            SafetyError: Another one has this name, or it can't be opened.
        """
        bound_s = opening_bound_s(spec)
        self._openings_s += bound_s
        try:
            async with self._opening:
                instrument = self._instruments.get(spec.name)
                if instrument is None:
                    return await self._open(spec, who)
        finally:
            self._openings_s -= bound_s
        if self._asked_for[spec.name] != spec:
            raise SafetyError(f"{spec.name} is open already, as {instrument.spec.resource}")
        return instrument

    def opening_bound_s(self, spec: InstrumentSpec) -> float:
        """Return the seconds in which `open` ends, with the openings before it."""
        return self._openings_s + opening_bound_s(spec)

    async def _open(self, spec: InstrumentSpec, who: str) -> OwnedInstrument:
        for other in self._instruments.values():
            if (other.spec.resource, other.spec.library) == (spec.resource, spec.library):
                raise SafetyError(
                    f"{spec.resource} is open already, as {other.name}; give it one name"
                )
        lock = ResourceLock(spec.resource) if not spec.simulated else None
        if lock is not None:
            lock.acquire(who)
        try:
            instrument = await open_instrument(spec)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        if lock is not None:
            self._locks.append(lock)
        if self.tripped is not None:
            await instrument.dispatcher.trip(self.tripped)
        self._instruments[spec.name] = instrument
        self._asked_for[spec.name] = spec
        self._safe_states[spec.name] = SafeState(instrument)
        return instrument

    def begin_safe_state(self, reason: str, submitted_s: float) -> asyncio.Task[EStopReport]:
        """Trip every instrument and drive it to its safe state, all at the same time.

        The task belongs to the rack: it goes on when whoever asked is gone.

        Args:
            reason: Why.
            submitted_s: When it was asked for, monotonic.
        """
        self.tripped = reason
        task = asyncio.create_task(self._enter_safe_state(reason, submitted_s))
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)
        return task

    async def enter_safe_state(self, reason: str, submitted_s: float) -> EStopReport:
        """Do what `begin_safe_state` does, and return the report."""
        return await asyncio.shield(self.begin_safe_state(reason, submitted_s))

    @property
    def safe_state_bound_s(self) -> float:
        """Seconds that `enter_safe_state` takes at the worst, if it begins now."""
        return max((state.bound_s for state in self._safe_states.values()), default=0.0)

    async def _enter_safe_state(self, reason: str, submitted_s: float) -> EStopReport:
        names = list(self._safe_states)
        outcomes = await asyncio.gather(
            *(state.enter(reason, submitted_s) for state in self._safe_states.values()),
            return_exceptions=True,
        )
        reports = []
        for name, outcome in zip(names, outcomes, strict=True):
            if isinstance(outcome, EStopReport):
                reports.append(outcome)
            else:
                log.error("%s: the safe state failed", name, exc_info=outcome)
                reports.append(unreported(name, reason))
        report = bench_report(reports, reason)
        self.estops.add(report)
        return report

    async def estops_settled(self) -> None:
        """Wait until every E-stop that was asked for has its report."""
        if self._entering:
            await asyncio.wait(set(self._entering))

    def rearm(self, reason: str) -> None:
        """Release every latch; nothing is switched on by it.

        Raises:
            SafeStateUnconfirmed: "off" of some instrument was not read back; all stay latched.
            SafetyError: The bench is on its way to be closed: nobody would switch it off again.
        """
        if self.ending is not None:
            raise SafetyError(f"the bench is not rearmed any more: {self.ending}")
        latches = {name: i.dispatcher.latch for name, i in self._instruments.items()}
        unsafe = [name for name, latch in latches.items() if latch.state is LatchState.TRIPPED]
        if unsafe:
            raise SafeStateUnconfirmed(
                f"{', '.join(unsafe)}: off was not read back since the trip ({self.tripped}); "
                "make the bench safe by hand, then start a new run"
            )
        for latch in latches.values():
            latch.apply(LatchEvent.REARM)
        self.tripped = None
        log.info("rearmed: %s", reason)

    def begin_test(self) -> None:
        """Begin the records of a new test."""
        for instrument in self._instruments.values():
            instrument.log.begin()

    async def safety_settled(self) -> None:
        """Wait until every SAFETY command that was submitted has its outcome."""
        for instrument in self._instruments.values():
            await instrument.safety_settled()

    @property
    def safety_bound_s(self) -> float:
        """Seconds that `safety_settled` takes at the worst, if it begins now."""
        return max((i.safety_bound_s for i in self._instruments.values()), default=0.0)

    @property
    def records(self) -> list[TransactionRecord]:
        """The records of the current test, of all instruments, in the order of submission."""
        records = [r for i in self._instruments.values() for r in i.log.records]
        return sorted(records, key=lambda record: record.submitted_s)

    @property
    def opened(self) -> list[OpenedInstrument]:
        """What a client may know of the instruments that are open."""
        return [instrument.described() for instrument in self._instruments.values()]

    async def close(self) -> None:
        """Close everything. It doesn't switch anything off: that comes before."""
        if self._entering:
            await asyncio.wait(self._entering)
        for instrument in self._instruments.values():
            await instrument.close()
        for lock in self._locks:
            lock.release()
        self._instruments.clear()
        self._asked_for.clear()
        self._safe_states.clear()
        self._locks.clear()
