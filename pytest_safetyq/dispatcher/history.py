"""What a dispatcher remembers: the latest records, and who wants to hear of new ones."""

import logging
from collections import deque
from collections.abc import Callable

from pytest_safetyq.dispatcher.reply import Reply
from pytest_safetyq.scheduling import Command, Outcome, TransactionRecord

Listener = Callable[[TransactionRecord], None]

log = logging.getLogger("pytest_safetyq.dispatcher")


class History:
    """Keeps the last ``size`` records of one instrument.

    Args:
        instrument: The instrument's name.
        size: How many records are kept.
    """

    def __init__(self, instrument: str, size: int) -> None:
        self._instrument = instrument
        self._records: deque[TransactionRecord] = deque(maxlen=size)
        self._listeners: list[Listener] = []

    @property
    def records(self) -> list[TransactionRecord]:
        """The records, oldest first."""
        return list(self._records)

    def subscribe(self, listener: Listener) -> None:
        """Call ``listener`` with every record from now on."""
        self._listeners.append(listener)

    def add(
        self,
        command: Command,
        outcome: Outcome,
        *,
        dispatched_s: float | None = None,
        written_s: float | None = None,
        finished_s: float | None = None,
    ) -> TransactionRecord:
        """Record the end of ``command``; times in monotonic seconds."""
        record = TransactionRecord(
            instrument=self._instrument,
            cmd_id=command.cmd_id,
            payload=bytes(command.payload),  # of a RawBytes the plain bytes
            priority=command.priority,
            effective_priority=command.effective,
            submitted_s=command.submitted_s,
            dispatched_s=dispatched_s,
            written_s=written_s,
            finished_s=finished_s,
            bound_s=command.bound_s,
            outcome=outcome,
        )
        self._records.append(record)
        for listener in self._listeners:
            try:
                listener(record)
            except Exception:  # a listener's fault must not end the worker
                log.exception("%s: a listener of the records has failed", self._instrument)
        return record


class StormLog:
    """Says once for each E-stop that it was repeated, and how often.

    It is said when the E-stop is done, at WARNING; if the storm goes on after that, what
    was still to come is said at INFO when it is over.

    Args:
        instrument: The instrument's name.

    Attributes:
        total: How many repeats were coalesced so far.
    """

    def __init__(self, instrument: str) -> None:
        self._instrument = instrument
        self.total = 0

    def repeated(self, twin: Command) -> None:
        """Count one repeat of ``twin`` that was coalesced."""
        twin.ticket.repeats += 1
        self.total += 1

    def over(self, twin: Command) -> None:
        """Log how often ``twin`` was repeated since this was last said."""
        reply: Reply = twin.ticket
        if reply.repeats:
            log.log(
                logging.INFO if reply.storm_told else logging.WARNING,
                "%s: SAFETY command %r was repeated %d times and sent once",
                self._instrument,
                twin.cmd_id,
                reply.repeats,
            )
            reply.storm_told = True
            reply.repeats = 0
