"""The future of one command's reply."""

import asyncio
from collections.abc import Callable
from typing import Any

from pytest_safetyq.scheduling import TransactionRecord


class Reply(asyncio.Future[bytes]):
    """A future that tells its command at once when nobody waits for it any more.

    A done-callback would tell it one turn of the loop later, and the command could be
    dispatched, or counted as waiting, in between.

    Attributes:
        on_cancel: Called when it is cancelled.
        record: How the command went; there when the future is done.
        outcome: What it was settled with, also if its owner had cancelled it by then.
        repeats: How many repeats were coalesced with it and not yet told.
        storm_told: Whether it was told already that there are any.
    """

    on_cancel: Callable[[], None] | None = None
    record: TransactionRecord | None = None
    outcome: bytes | BaseException | None = None
    repeats: int = 0
    storm_told: bool = False

    def cancel(self, msg: Any = None) -> bool:
        """Cancel, and withdraw the command if it still waits."""
        cancelled = super().cancel(msg)
        if cancelled and self.on_cancel is not None:
            self.on_cancel()
        return cancelled

    def settle(self, outcome: bytes | BaseException | None) -> None:
        """Set the reply, the error, or with None cancel; nothing if it is done already.

        An error that nobody retrieves stays silent: a flush fails hundreds of futures whose
        owners are long gone, and it is the records that tell of them.
        """
        self.outcome = outcome
        if self.done():
            return
        if outcome is None:
            super().cancel()
        elif isinstance(outcome, BaseException):
            self.set_exception(outcome)
            self.exception()
        else:
            self.set_result(outcome)
