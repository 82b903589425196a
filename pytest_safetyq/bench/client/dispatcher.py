"""The dispatcher of an instrument, as a test holds it: the dispatcher itself is elsewhere."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pytest_safetyq.bench.client.answer import Answer
from pytest_safetyq.bench.client.bench import Bench
from pytest_safetyq.bench.client.connection import convert
from pytest_safetyq.bench.client.futures import admitted, in_this_loop
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.dispatcher.loan import Transact, within_budget
from pytest_safetyq.errors import LinkLost
from pytest_safetyq.scheduling import Priority, TransactionRecord

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here

T = TypeVar("T")


class RemoteDispatcher:
    """Does what `SafetyAwareDispatcher` does, with the dispatcher in the supervisor.

    The properties ask the supervisor and wait for its answer.

    Args:
        bench: The bench.
        instrument: The instrument's name.
    """

    def __init__(self, bench: Bench, instrument: str) -> None:
        self._bench = bench
        self.name = instrument

    async def submit(
        self,
        cmd_id: str,
        payload: bytes,
        priority: Priority,
        *,
        timeout: float = 5.0,  # noqa: ASYNC109 - the budget on the wire
        expect_reply: bool | None = None,
    ) -> asyncio.Future[bytes]:
        """Enqueue one command and return at once; see `SafetyAwareDispatcher.submit`.

        ``payload`` gets the instrument's terminator if it doesn't end with it.
        """
        answer = self._bench.submit(
            self.name, cmd_id, payload, priority, timeout_s=timeout, expect_reply=expect_reply
        )
        await admitted(answer)
        return in_this_loop(answer)

    async def abort_low_priority(self, *, below: Priority = Priority.CONTROL) -> int:
        """Cancel waiting commands less urgent than ``below``; return how many."""
        request = m.Abort(
            id=self._bench.connection.number(), instrument=self.name, below=Priority(below)
        )
        return convert(await asyncio.wrap_future(self._request(request)), int)

    async def run_job(
        self,
        job: Callable[[Transact], Awaitable[T]],
        priority: Priority,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is enforced with asyncio.timeout
    ) -> T:
        """Run ``job(txn)`` with the link on loan; see `SafetyAwareDispatcher.run_job`."""
        name = getattr(job, "__qualname__", type(job).__qualname__)
        connection = self._bench.connection
        number = connection.number()
        begin = m.BeginJob(
            id=number,
            instrument=self.name,
            name=name,
            priority=Priority(priority),
            timeout_s=timeout,
        )
        answer = self._request(begin)
        try:
            await admitted(answer)
            result = await within_budget(job(self._transact_for(number)), name, timeout)
        except BaseException:
            answer.cancel()
            with contextlib.suppress(LinkLost):  # with the supervisor the job has ended too
                connection.send(m.EndJob(job=number))
            raise
        connection.send(m.EndJob(job=number))
        await asyncio.wrap_future(answer)  # a job that swallowed its preemption is told here
        return result

    def _transact_for(self, job: int) -> Transact:
        async def transact(
            payload: bytes,
            *,
            timeout: float = 5.0,  # noqa: ASYNC109 - the budget on the wire
            expect_reply: bool | None = None,
        ) -> bytes:
            transaction = m.JobTransaction(
                id=self._bench.connection.number(),
                job=job,
                payload=payload,
                timeout_s=timeout,
                expect_reply=expect_reply,
            )
            answer = self._bench.transact(self.name, transaction)
            return bytes(await asyncio.wrap_future(answer))

        return transact

    async def trip(self, reason: str) -> int:
        """Flush everything but SAFETY and latch; return how many were flushed.

        Nothing is switched off by it: `estop` of the instrument does that.
        """
        request = m.Trip(id=self._bench.connection.number(), instrument=self.name, reason=reason)
        return convert(await asyncio.wrap_future(self._request(request)), int)

    def rearm(self, reason: str) -> None:
        """Release the latch.

        Raises:
            SafeStateUnconfirmed: "off" was not read back since the trip.
        """
        self._bench.rearm(reason)

    @property
    def latched(self) -> bool:
        """Whether everything but SAFETY is refused."""
        return self._state.latched

    @property
    def running_priority(self) -> Priority | None:
        """The priority of the transaction in flight, or None."""
        return self._state.running_priority

    @property
    def pending(self) -> int:
        """How many commands wait."""
        return sum(self._state.pending_by_priority.values())

    @property
    def pending_by_priority(self) -> dict[Priority, int]:
        """How many commands wait, by base priority."""
        return {Priority(p): n for p, n in self._state.pending_by_priority.items()}

    @property
    def dwell_s(self) -> dict[Priority, float]:
        """By base priority the longest wait, in seconds, among those that wait now."""
        return {Priority(p): s for p, s in self._state.dwell_s.items()}

    @property
    def coalesced(self) -> int:
        """How many repeats of SAFETY commands were coalesced so far."""
        return self._state.coalesced

    @property
    def discarded_replies(self) -> int:
        """How many stale replies were thrown away so far."""
        return self._state.discarded_replies

    @property
    def records(self) -> list[TransactionRecord]:
        """The latest records, oldest first."""
        return self._bench.history(self.name)

    def worst_case_s(self, priority: Priority = Priority.SAFETY) -> float:
        """Return the bound, in seconds, on the wait of a command submitted now."""
        return self._state.worst_case_s[Priority(priority)]

    @property
    def _state(self) -> m.DispatcherState:
        return self._bench.state(self.name)

    def _request(self, request: m.Request) -> Answer:
        return self._bench.connection.request(request)
