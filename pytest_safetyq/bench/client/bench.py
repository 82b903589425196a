"""The bench, as a test process holds it."""

import os
import subprocess
import sys
import time

from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench.client.answer import Answer
from pytest_safetyq.bench.client.connection import Connection, convert
from pytest_safetyq.bench.client.launch import start_supervisor
from pytest_safetyq.bench.platform import resume
from pytest_safetyq.bench.reports import EStopReport, LatencyStats
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.dispatcher.payload import in_words
from pytest_safetyq.errors import SafetyError
from pytest_safetyq.scheduling import Priority, TransactionRecord

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here

EXIT_TIMEOUT_S = 10.0
"""Seconds that a supervisor whose instruments are off gets to end."""


class Bench:
    """A supervisor, and the instruments that are open in it.

    Args:
        who: Who this is, for its messages.
        stderr: A descriptor for the supervisor's last words; None: this process's own.

    Attributes:
        opened: The instruments that are open, by name.
        connection: The connection to the supervisor.
    """

    def __init__(
        self, who: str = f"test process {os.getpid()}", *, stderr: int | None = None
    ) -> None:
        self._process, self._endpoint = start_supervisor(stderr)
        try:
            self.connection = Connection(self._endpoint, who=who)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        self._pid = os.getpid()
        self.opened: dict[str, m.OpenedInstrument] = {}
        self._specs: dict[str, m.InstrumentSpec] = {}

    @property
    def lost(self) -> str | None:
        """Why the supervisor is gone; None: it isn't."""
        return self.connection.lost

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that opened it, and no fork of that."""
        return os.getpid() == self._pid

    def open(self, spec: m.InstrumentSpec) -> m.OpenedInstrument:
        """Open an instrument, if it isn't open yet.

        Raises:
            LinkLost: It can't be opened; the message says what was found instead.
            SafetyError: It isn't what the bench file says.
        """
        opened = self.opened.get(spec.name)
        if opened is not None and self._specs[spec.name] != spec:
            raise SafetyError(f"{spec.name} is open already, as {opened.resource}")
        if opened is None:
            request = m.Open(id=self.connection.number(), spec=spec)
            opened = self.connection.ask(request, m.OpenedInstrument)
            self.opened[spec.name] = opened
            self._specs[spec.name] = spec
        return opened

    def submit(
        self,
        instrument: str,
        cmd_id: str,
        payload: bytes,
        priority: Priority,
        *,
        raw: bool = False,
        timeout_s: float | None,
        expect_reply: bool | None,
    ) -> Answer:
        """Send one command and return the future of its reply.

        Args:
            instrument: The instrument's name.
            cmd_id: A name for the command.
            payload: The message.
            priority: How urgent it is.
            raw: Whether it is sent exactly as it is, without a terminator.
            timeout_s: Its budget; None: the instrument's own.
            expect_reply: Whether a reply is read; None: if it asks a question.
        """
        request = m.Submit(
            id=self.connection.number(),
            instrument=instrument,
            cmd_id=cmd_id,
            payload=payload,
            raw=raw,
            priority=Priority(priority),
            timeout_s=timeout_s,
            expect_reply=expect_reply,
            submitted_s=time.monotonic(),
        )
        return self._queue(request, instrument, payload, timeout_s)

    def transact(self, instrument: str, request: m.JobTransaction) -> Answer:
        """Send one transaction of a job on ``instrument`` and return the future of its reply."""
        return self._queue(request, instrument, request.payload, request.timeout_s)

    def _queue(
        self, request: m.Request, instrument: str, payload: bytes, timeout_s: float | None
    ) -> Answer:
        opened = self.opened[instrument]
        budget_s = opened.timeout_s if timeout_s is None else timeout_s
        return self.connection.request(
            request,
            what=f"{instrument}: {in_words(payload)}",
            queued_s=budget_s + opened.recovery_s,
        )

    def estop(self, reason: str) -> EStopReport:
        """Trip, and drive every open instrument to its safe state.

        Everything but SAFETY is refused until `rearm`.
        """
        return ask_estop(self.connection, reason)

    def rearm(self, reason: str) -> None:
        """Release the latch of every instrument; nothing is switched on by it.

        Raises:
            SafeStateUnconfirmed: "off" was not read back from all of them.
        """
        request = m.Rearm(id=self.connection.number(), reason=reason)
        self.connection.ask(request, type(None))

    def state(self, instrument: str) -> m.DispatcherState:
        """Return a look at the dispatcher of ``instrument``."""
        request = m.State(id=self.connection.number(), instrument=instrument)
        return self.connection.ask(request, m.DispatcherState)

    @property
    def latched(self) -> bool:
        """Whether any instrument is tripped and not rearmed."""
        return any(self.state(name).latched for name in self.opened)

    def begin_test(self, test: str) -> None:
        """Let `records` begin anew."""
        self.connection.ask(m.BeginTest(id=self.connection.number(), test=test), type(None))

    def take_estops(self) -> list[EStopReport]:
        """Return the reports of all E-stops since the last call, whoever asked for them."""
        return self.connection.ask(m.TakeEStops(id=self.connection.number()), list[EStopReport])

    @property
    def records(self) -> list[TransactionRecord]:
        """The records of the current test, of all instruments, in the order of submission."""
        return self.history(None)

    def history(self, instrument: str | None) -> list[TransactionRecord]:
        """Return the last records of ``instrument``; None: those of the current test."""
        request = m.Records(id=self.connection.number(), instrument=instrument)
        return self.connection.ask(request, list[TransactionRecord])

    def probe(
        self, instrument: str, *, samples: int, backlog: int, command: str | None
    ) -> LatencyStats:
        """Fire safety commands under a saturated POLL backlog; see `Safety.probe`."""
        request = m.Probe(
            id=self.connection.number(),
            instrument=instrument,
            samples=samples,
            backlog=backlog,
            command=command,
        )
        return self.connection.ask(request, LatencyStats)

    def resources(self, library: str) -> list[str]:
        """Return the resource names that a VISA library finds."""
        request = m.ListResources(id=self.connection.number(), library=library)
        return self.connection.ask(request, list[str])

    def close(self) -> EStopReport:
        """Drive everything to its safe state, and let the supervisor end.

        Raises:
            LinkLost: The supervisor is gone, or doesn't answer.
        """
        goodbye = m.Goodbye(id=self.connection.number(), submitted_s=time.monotonic())
        promise_s = 0.0
        try:
            answer = self.connection.request(goodbye, what="the safe state at the end of the run")
            try:
                return convert(self.connection.wait(answer), EStopReport)
            finally:
                promise_s = answer.promise_s
        finally:
            self.connection.close()
            self._reap(EXIT_TIMEOUT_S + promise_s)

    def _reap(self, timeout_s: float) -> None:
        resume(self._process.pid)  # one that was stopped still has to switch off
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            sys.stderr.write(f"safetyq: supervisor {self._process.pid} doesn't end; it is killed\n")
            self._process.kill()
            self._process.wait()
        endpoints.remove(self._endpoint)  # one that was killed could not do it itself


def begin_estop(connection: Connection, reason: str) -> Answer:
    """Send the E-stop and return the future of its report, without waiting for it."""
    request = m.EStop(id=connection.number(), reason=reason, submitted_s=time.monotonic())
    return connection.request(request, what="the E-stop")


def ask_estop(connection: Connection, reason: str) -> EStopReport:
    """Send the E-stop and return its report.

    Raises:
        LinkLost: The supervisor is gone, or doesn't answer.
    """
    return convert(connection.wait(begin_estop(connection, reason)), EStopReport)
