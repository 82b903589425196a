"""The evidence of a run: which test, which instruments, which commands, how safe it ended.

All of it is plain data that msgspec turns into JSON, because under xdist it comes from the
workers with their test reports.
"""

from dataclasses import dataclass, field

from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.scheduling import TransactionRecord

INTERRUPTED = "interrupted"
"""The outcome of a test that the end of the run has cut short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentEvidence:
    """One instrument that was open.

    Attributes:
        name: Its name on the bench.
        resource: Its VISA resource name.
        model: The name of its profile.
        identity: Its answer to the identification query.
        simulated: Whether it was a simulation and no hardware.
    """

    name: str
    resource: str
    model: str
    identity: str
    simulated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TestEvidence:
    """One test that used the bench.

    Attributes:
        nodeid: pytest's name for it.
        instruments: The instruments that were open at its end.
        records: Its transactions, oldest first; only those of SAFETY unless a trace is kept.
        estops: Every E-stop and every safe state at the end of a scope, oldest first.
    """

    __test__ = False  # the name is the field's word, and no test class

    nodeid: str
    instruments: list[InstrumentEvidence]
    records: list[TransactionRecord]
    estops: list[EStopReport]


@dataclass(slots=True, kw_only=True)
class RunEvidence:
    """A whole run.

    Attributes:
        started: When it began, ISO 8601 with the time zone.
        version: The version of this package.
        tests: The tests that used the bench, in the order in which they ended.
        outcomes: By node id, pytest's word for it: ``passed``, ``failed``, ``error``,
            ``skipped``, ``xfailed``, ``xpassed``; ``interrupted`` if it was cut short.
        endings: The last safe state of the run, one for each process that ran tests.
        unconfirmed: What was not confirmed off, in words; empty: everything was.
    """

    started: str
    version: str
    tests: list[TestEvidence] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    endings: list[EStopReport] = field(default_factory=list)

    def add(self, test: TestEvidence, outcome: str) -> None:
        """Take a test that has ended."""
        self.tests.append(test)
        self.outcomes[test.nodeid] = outcome

    unconfirmed: list[str] = field(default_factory=list)
