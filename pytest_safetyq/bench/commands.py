"""What there is to do on a bench without a test run: list, check, E-stop.

Shared by the ``safetyq`` command and by the plugin's options of the same meaning.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench.client.answer import Answer
from pytest_safetyq.bench.client.bench import Bench, begin_estop
from pytest_safetyq.bench.client.connection import Connection, convert
from pytest_safetyq.bench.endpoint import Endpoint
from pytest_safetyq.bench.profiles import profile_names
from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.bench.selection import SIMULATION, library_path
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.errors import SafetyError

Verdict = tuple[str, bool]
"""A line for people, and whether what it says is good."""


def list_lines(library: str) -> Iterator[str]:
    """Yield what a VISA library finds, what is simulated, and the profiles that ship.

    Args:
        library: As PyVISA takes it; empty: PyVISA's choice.
    """
    bench = Bench(f"safetyq list (process {os.getpid()})")
    try:
        if library != SIMULATION:
            yield f"resources of {library or 'the VISA library that PyVISA chooses'}:"
            yield from _resources(bench, library)
        yield "simulated (--safetyq-visa=@sim):"
        yield from _resources(bench, SIMULATION)
    finally:
        bench.close()
    yield "profiles:"
    yield from (f"  {name}" for name in profile_names())


def _resources(bench: Bench, library: str) -> Iterator[str]:
    try:
        found = bench.resources(library_path(library))
    except SafetyError as error:
        yield f"  {error}"
        return
    yield from (f"  {resource}" for resource in found or ["none"])


def check_lines(specs: Sequence[InstrumentSpec]) -> Iterator[Verdict]:
    """Open each instrument, identify it, and prove the E-stop of all once."""
    bench = Bench(f"safetyq check (process {os.getpid()})")
    try:
        for spec in specs:
            kind = "SIMULATED" if spec.simulated else "REAL"
            try:
                opened = bench.open(spec)
            except SafetyError as error:
                yield f"{spec.name}: {spec.resource} {kind}: {error}", False
            else:
                yield f"{spec.name}: {spec.resource} {kind} {opened.model}: {opened.identity}", True
        if bench.opened:
            yield from _verdicts(bench.estop("safetyq check"))
    finally:
        bench.close()


def estop_lines(specs: Sequence[InstrumentSpec]) -> Iterator[Verdict]:
    """Send the E-stop through every run that is alive, and to those of ``specs`` that none has.

    It is sent to all of them before anybody's answer is waited for: a supervisor that is
    stuck must not hold up the others.
    """
    yield from (sent := _SentToAll()).lines()
    missing = [spec for spec in specs if _place(spec) not in sent.places]
    if missing:
        yield from check_lines(missing)
    elif not sent.alive:
        yield "no run is alive; name the instruments with --bench or --instrument", False


class _SentToAll:
    """The E-stops under way to every supervisor of this user.

    Attributes:
        alive: Whether there is any.
        places: Where the instruments are that they hold.
    """

    def __init__(self) -> None:
        self._under_way: list[tuple[int, Connection, Answer]] = []
        self._unreached: list[Verdict] = []
        self.places: set[tuple[str, str]] = set()
        found = list(endpoints.discover())
        if found:
            with ThreadPoolExecutor(len(found)) as threads:
                list(threads.map(self._send, found))
        self.alive = bool(self._under_way)

    def _send(self, endpoint: Endpoint) -> None:
        try:
            connection = Connection(endpoint, who="safetyq estop", guest=True)
        except SafetyError as error:
            self._unreached.append((f"supervisor {endpoint.pid}: {error}", False))
        else:
            answer = begin_estop(connection, "safetyq estop")
            self._under_way.append((endpoint.pid, connection, answer))

    def lines(self) -> Iterator[Verdict]:
        """Yield the outcome at each supervisor."""
        yield from self._unreached
        for pid, connection, answer in self._under_way:
            try:
                report = convert(connection.wait(answer), EStopReport)
                listing = m.ListOpened(id=connection.number())
                held = connection.ask(listing, list[m.OpenedInstrument])
            except SafetyError as error:
                yield f"supervisor {pid}: {error}", False
                continue
            finally:
                connection.close()
            self.places.update(_place(opened) for opened in held)
            yield from _verdicts(report)
            if not report.by_instrument:
                yield f"supervisor {pid}: no instrument is open", True


def _place(instrument: InstrumentSpec | m.OpenedInstrument) -> tuple[str, str]:
    """Return where an instrument is: real libraries reach the same hardware, simulations don't."""
    return instrument.resource, instrument.library if instrument.simulated else ""


def _verdicts(report: EStopReport) -> Iterator[Verdict]:
    for one in report.by_instrument.values():
        took = ""
        if one.dispatch_latency_s is not None and one.confirmed_latency_s is not None:
            took = (
                f" (on the wire after {one.dispatch_latency_s * 1000:.2f} ms,"
                f" confirmed after {one.confirmed_latency_s * 1000:.2f} ms)"
            )
        yield f"{one}{took}", one.confirmed
