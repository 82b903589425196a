"""A job whose body runs in the client: the link is lent over the connection."""

import asyncio
from collections.abc import Callable

from pytest_safetyq.bench.supervisor.explaining import failed
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.wire.messages import (
    BeginJob,
    Done,
    JobGranted,
    JobTransaction,
    Message,
)
from pytest_safetyq.dispatcher.loan import Transact
from pytest_safetyq.errors import Preempted


class RemoteJob:
    """Stands for the client's job in the dispatcher.

    Args:
        request: What the client asked for.
        instrument: The instrument.
        send: Sends a message to the client.
    """

    def __init__(
        self, request: BeginJob, instrument: OwnedInstrument, send: Callable[[Message], None]
    ) -> None:
        self._request = request
        self._instrument = instrument
        self._send = send
        self._transactions: asyncio.Queue[JobTransaction | None] = asyncio.Queue()
        self._over = False

    async def run(self) -> None:
        """Run until the client ends the job or loses the link.

        Raises:
            SafetyError: As `SafetyAwareDispatcher.run_job`.
        """

        async def serve(txn: Transact) -> None:
            await self._serve(txn)

        # The records and what others are told name the client's job.
        serve.__qualname__ = self._request.name
        try:
            await self._instrument.dispatcher.run_job(
                serve, self._request.priority, timeout=self._request.timeout_s
            )
        finally:
            self._over = True
            while not self._transactions.empty():
                self._refuse(self._transactions.get_nowait())

    def transact(self, transaction: JobTransaction) -> None:
        """Take a transaction that the client's job asks for."""
        if self._over:
            self._refuse(transaction)
        else:
            self._transactions.put_nowait(transaction)

    def end(self) -> None:
        """The client's job has ended."""
        self._transactions.put_nowait(None)

    async def _serve(self, txn: Transact) -> None:
        self._send(JobGranted(id=self._request.id))
        while (transaction := await self._transactions.get()) is not None:
            try:
                self._instrument.limits.check(transaction.payload)
                reply = await txn(
                    transaction.payload,
                    timeout=transaction.timeout_s,
                    expect_reply=transaction.expect_reply,
                )
            except asyncio.CancelledError:
                self._refuse(transaction)
                raise
            except Exception as error:  # noqa: BLE001 - it is raised in the client's job
                self._send(failed(transaction.id, self._instrument, transaction.payload, error))
            else:
                self._send(Done(id=transaction.id, value=reply))

    def _refuse(self, transaction: JobTransaction | None) -> None:
        if transaction is not None:
            error = Preempted(f"{self._request.name}: the job has lost the link")
            self._send(failed(transaction.id, self._instrument, transaction.payload, error))
