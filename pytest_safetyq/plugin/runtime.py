"""What the plugin knows while a run lasts: the bench, and what has become of it."""

import contextlib
import datetime
import os
from collections.abc import Iterator

import pytest

from pytest_safetyq.bench import (
    AsyncInstrument,
    Bench,
    EStopReport,
    Instrument,
    RemoteDispatcher,
    Safety,
)
from pytest_safetyq.bench.config import BenchFileError
from pytest_safetyq.bench.selection import Selection, SelectionError, Wish, select
from pytest_safetyq.bench.wire.messages import InstrumentSpec, OpenedInstrument
from pytest_safetyq.errors import LinkLost, SafetyError
from pytest_safetyq.plugin import options
from pytest_safetyq.plugin.evidence.model import InstrumentEvidence, RunEvidence, TestEvidence
from pytest_safetyq.plugin.failures import UnconfirmedFailure
from pytest_safetyq.plugin.safe_states import SafeStates
from pytest_safetyq.plugin.state import STDERR
from pytest_safetyq.plugin.version import version
from pytest_safetyq.scheduling import Priority, TransactionRecord

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here


class Runtime:
    """The bench of one pytest process, from the first instrument to the end of the run.

    Args:
        config: pytest's.

    Attributes:
        selection: The instruments of the run.
        evidence: What is written to the reports.

    Raises:
        pytest.UsageError: What the user has named can't be.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._bench: Bench | None = None
        self._test = ""
        self._ready = False
        self._holders = 0
        self._keeps_all_records = config.getoption("safetyq_trace") is not None
        self.selection = selection_of(config)
        self.evidence = RunEvidence(
            started=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            version=version(),
        )
        self._safe_states = SafeStates(self.evidence)

    @property
    def bench(self) -> Bench:
        """The bench; its supervisor is started when this is first asked for."""
        if self._bench is None:
            self._bench = Bench(self._who, stderr=self._config.stash[STDERR])
        return self._bench

    @property
    def _who(self) -> str:
        worker = os.environ.get("PYTEST_XDIST_WORKER")
        return f"test process {os.getpid()}" + (f" ({worker})" if worker else "")

    def instrument(self, name: str) -> Instrument:
        """Return the blocking handle of the instrument ``name``."""
        opened = self._opened(name)
        return Instrument(self.bench, opened)

    def async_instrument(self, name: str) -> AsyncInstrument:
        """Return the asyncio handle of the instrument ``name``."""
        opened = self._opened(name)
        return AsyncInstrument(self.bench, opened)

    def dispatcher(self, name: str) -> RemoteDispatcher:
        """Return the dispatcher of the instrument ``name``."""
        opened = self._opened(name)
        return RemoteDispatcher(self.bench, opened.name)

    def safety(self, name: str) -> Safety:
        """Return the bench; ``name`` is opened, as a bench without instruments proves nothing."""
        opened = self._opened(name)
        return Safety(self.bench, opened.name)

    def _opened(self, name: str) -> OpenedInstrument:
        """Open an instrument; what goes wrong is the bench's, and needs no traceback of ours.

        Raises:
            KeyError: The bench has no such instrument.
        """
        spec = self.spec(name)
        try:
            return self.bench.open(spec)
        except SafetyError as error:
            problem = f"{type(error).__name__}: {error}"
        # Outside the except clause: pytest would show a chained exception with its traceback.
        pytest.fail(problem, pytrace=False)

    def spec(self, name: str) -> InstrumentSpec:
        """Return what is known of the instrument ``name``.

        Raises:
            KeyError: The bench has no such instrument.
        """
        try:
            return self.selection.specs[name]
        except KeyError:
            known = ", ".join(self.selection.specs)
            raise KeyError(f"the bench has no instrument {name!r}; it has {known}") from None

    def open_named(self) -> None:
        """Open the instruments that the user has named: absent hardware stops the run.

        Raises:
            pytest.UsageError: One can't be opened.
        """
        for name in self.selection.named:
            try:
                self.bench.open(self.spec(name))
            except SafetyError as error:
                raise pytest.UsageError(str(error)) from None

    def begin_test(self, nodeid: str) -> None:
        """Forget the test before. The bench is not touched: this test may not use it."""
        self._safe_states.begin_test()
        self._test = nodeid
        self._ready = False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """While a fixture of ours is set up: in a wider scope that is over many tests."""
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1

    @property
    def is_held(self) -> bool:
        """Whether a fixture of ours is set up, maybe by a test before."""
        return self._holders > 0

    def make_ready(self) -> None:
        """Rearm the bench for a test that uses it, once, if it was used before.

        Raises:
            UnconfirmedFailure: "off" was not read back since the last trip.
        """
        if self._ready:
            return
        self._ready = True
        if self._bench is None:
            return
        if self._safe_states.given_up:
            raise UnconfirmedFailure(self._safe_states.given_up)
        try:
            self._bench.rearm(f"next test: {self._test}")
            self._bench.begin_test(self._test)
        except SafetyError as error:
            problem = str(error)
        else:
            return
        raise UnconfirmedFailure(problem)

    def trip(self, nodeid: str, phase: str, why: str) -> None:
        """Send the E-stop because something has failed, and wait until it is confirmed."""
        self._safe_states.fail(self._bench, nodeid, phase, why)

    def end_of_scope(self, scope: str) -> None:
        """Send and confirm the safe state at the end of a scope.

        Raises:
            UnconfirmedFailure: "off" could not be read back.
        """
        self._safe_states.end_scope(self._bench, scope)

    def collect(self) -> TestEvidence | None:
        """Return the evidence of the test that has ended; None if it did nothing on the bench."""
        nodeid, self._test = self._test, ""
        if self._bench is None or not nodeid or self._safe_states.given_up:
            return None
        records: list[TransactionRecord] = []
        estops: list[EStopReport] = []
        if self._bench.is_ours and not self._safe_states.lost:
            try:
                records, estops = self.records, self._bench.take_estops()
            except LinkLost as error:
                self._safe_states.unconfirmed(f"the bench during {nodeid}: {error}")
        self._safe_states.note(estops)
        estops += self._safe_states.unreported
        if not records and not estops:
            return None
        return TestEvidence(
            nodeid=nodeid,
            instruments=[_evidence(opened) for opened in self._bench.opened.values()],
            records=records if self._keeps_all_records else _safety(records),
            estops=estops,
        )

    @property
    def records(self) -> list[TransactionRecord]:
        """The records of the current test."""
        # A test that doesn't use the bench has none: those before it are not its own.
        return self._bench.records if self._bench is not None and self._ready else []

    def finish(self) -> None:
        """Let nothing that is torn down from now on end the session with an exception."""
        self._safe_states.finishing = True

    def close(self) -> None:
        """Drive everything to its safe state and end the supervisor."""
        bench, self._bench = self._bench, None
        if bench is not None and bench.is_ours:
            self._safe_states.end_run(bench)


def selection_of(config: pytest.Config) -> Selection:
    """Return the instruments that the user's options select.

    Raises:
        pytest.UsageError: Something that was named can't be.
    """
    given, default = options.visa_library(config)
    wish = Wish(
        instruments=options.instruments_named(config),
        bench=options.bench_file(config),
        visa=given,
        default_visa=default,
        model=config.getoption("safetyq_model"),
    )
    try:
        return select(wish)
    except (SelectionError, BenchFileError) as error:
        raise pytest.UsageError(str(error)) from None


def _safety(records: list[TransactionRecord]) -> list[TransactionRecord]:
    return [record for record in records if record.priority is Priority.SAFETY]


def _evidence(opened: OpenedInstrument) -> InstrumentEvidence:
    return InstrumentEvidence(
        name=opened.name,
        resource=opened.resource,
        model=opened.model,
        identity=opened.identity,
        simulated=opened.simulated,
    )
