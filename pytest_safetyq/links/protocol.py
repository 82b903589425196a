"""What a dispatcher asks of a link."""

from typing import Protocol, runtime_checkable


class RawBytes(bytes):
    """A message that goes on the wire exactly as it is.

    Any other message gets the link's terminator if it doesn't end with it, and its reply
    comes without one; a raw message is sent as it is, and so is its reply handed back.
    """

    __slots__ = ()


@runtime_checkable
class Link(Protocol):
    """One open path to one instrument.

    The dispatcher calls one method at a time and sets the deadlines: it cancels a call that
    overstays its budget. A link must then return promptly; one that doesn't is left behind.

    Attributes:
        resync_budget_s: Seconds that `resynchronise` may take at the most.
        deadline_s: Monotonic time at which the transaction in progress will be given up;
            the dispatcher sets it, for links whose calls block and want a timeout of their own.
    """

    resync_budget_s: float
    deadline_s: float

    async def write(self, payload: bytes, /) -> None:
        """Send one message.

        Raises:
            LinkLost: The path is gone.
        """

    async def read(self) -> bytes:
        """Return the reply to the last message.

        Raises:
            LinkLost: The path is gone.
        """

    async def resynchronise(self, *, owed: int, lost: bool) -> int:
        """Bring the link to where the next reply belongs to the next query.

        Args:
            owed: How many replies were asked for and never read.
            lost: Whether a message may have been cut short or the path is gone: then what
                is written next would be misread, and the path must be renewed.

        Returns:
            How many stale replies were thrown away.

        Raises:
            LinkLost: It can't be done.
        """

    async def close(self) -> None:
        """Close the path; harmless if it is closed already."""
