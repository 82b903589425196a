"""One open instrument, as the supervisor holds it."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from pytest_safetyq.bench.config import Profile
from pytest_safetyq.bench.limits import Limits
from pytest_safetyq.bench.supervisor.abridging import abridged
from pytest_safetyq.bench.supervisor.express import Express
from pytest_safetyq.bench.wire.messages import InstrumentSpec, OpenedInstrument
from pytest_safetyq.dispatcher import SafetyAwareDispatcher
from pytest_safetyq.dispatcher.exchange import CANCEL_GRACE_S
from pytest_safetyq.dispatcher.reply import Reply
from pytest_safetyq.links import InstrumentLink, RawBytes
from pytest_safetyq.scheduling import Priority, TransactionRecord

KEPT_PER_TEST = 16_384
"""Records other than SAFETY that are kept of one test; SAFETY ones are kept all."""

HISTORY = 4096
"""Records that are kept of an instrument, over all tests."""


class TestLog:
    """The records of the current test."""

    __test__ = False  # the name is the field's word, and no test class

    def __init__(self) -> None:
        self._safety: list[TransactionRecord] = []
        self._others: deque[TransactionRecord] = deque(maxlen=KEPT_PER_TEST)

    def begin(self) -> None:
        """Forget the records of the test before."""
        self._safety.clear()
        self._others.clear()

    def add(self, record: TransactionRecord) -> None:
        """Keep one record."""
        if record.priority is Priority.SAFETY:
            self._safety.append(record)
        else:
            self._others.append(record)

    @property
    def records(self) -> list[TransactionRecord]:
        """The records, in the order of submission."""
        return sorted([*self._safety, *self._others], key=lambda record: record.submitted_s)


@dataclass(kw_only=True)
class OwnedInstrument:
    """An instrument that is open, and the one dispatcher that owns its link.

    Attributes:
        spec: What it was opened from.
        model: The name of its profile.
        profile: What is known of its model.
        identity: Its answer to the identification query.
        timeout_s: The default budget of a transaction.
        limits: What may be set.
        link: The link.
        dispatcher: The dispatcher.
        express: The express session, or None.
        log: The records of the current test.
        history: The latest records, oldest first; of long payloads the beginning, which the
            dispatcher's own history would keep whole.
    """

    spec: InstrumentSpec
    model: str
    profile: Profile
    identity: str
    timeout_s: float
    limits: Limits
    link: InstrumentLink
    dispatcher: SafetyAwareDispatcher
    express: Express | None = None
    log: TestLog = field(default_factory=TestLog)
    history: deque[TransactionRecord] = field(default_factory=lambda: deque(maxlen=HISTORY))
    _next_record: asyncio.Future[None] | None = None

    def __post_init__(self) -> None:
        self.dispatcher.subscribe(self._recorded)
        if self.express is not None:
            self.express.subscribe(self._recorded)

    @property
    def name(self) -> str:
        """Its name on the bench."""
        return self.spec.name

    @property
    def recovery_s(self) -> float:
        """For how long restoring the link may hold up one transaction, in seconds."""
        # A call that has overstayed is waited for as long as the link itself.
        return 2 * (self.link.resync_budget_s + CANCEL_GRACE_S)

    @property
    def transaction_bound_s(self) -> float:
        """Seconds that a transaction of the default budget takes at the worst, from its turn."""
        return self.timeout_s + CANCEL_GRACE_S + self.recovery_s

    @property
    def safety_bound_s(self) -> float:
        """Seconds after which every SAFETY command submitted by now has its outcome."""
        return self.dispatcher.worst_case_s(Priority.SAFETY) + self.transaction_bound_s

    def described(self) -> OpenedInstrument:
        """Return what a client may know."""
        return OpenedInstrument(
            name=self.name,
            resource=self.spec.resource,
            library=self.spec.library,
            model=self.model,
            identity=self.identity,
            simulated=self.spec.simulated,
            timeout_s=self.timeout_s,
            recovery_s=self.recovery_s,
            write_terminator=self.profile.write_terminator.encode("latin-1"),
        )

    def submit(
        self,
        cmd_id: str,
        payload: bytes,
        priority: Priority,
        *,
        raw: bool = False,
        timeout_s: float | None = None,
        expect_reply: bool | None = None,
        submitted_s: float | None = None,
    ) -> Reply:
        """Submit one command, after its set-points were held against the limits.

        Raises:
            LimitExceeded: The bench file forbids it; nothing is sent.
            SafetyError: As `SafetyAwareDispatcher.submit`.
        """
        self.limits.check(payload)
        return self.dispatcher.enqueue(
            cmd_id,
            RawBytes(payload) if raw else payload,
            priority,
            timeout=self.timeout_s if timeout_s is None else timeout_s,
            expect_reply=expect_reply,
            submitted_s=submitted_s,
        )

    async def safety_settled(self) -> None:
        """Wait until every SAFETY command that was submitted has its outcome."""
        while self.dispatcher.safety_outstanding:
            self._next_record = asyncio.get_running_loop().create_future()
            await self._next_record

    def _recorded(self, record: TransactionRecord) -> None:
        record = abridged(record)
        self.log.add(record)
        self.history.append(record)
        if self._next_record is not None and not self._next_record.done():
            self._next_record.set_result(None)

    async def close(self) -> None:
        """Stop the dispatcher and close the link, and the express session with them."""
        await self.dispatcher.stop()
        await self.link.close()
        if self.express is not None:
            await self.express.close()
