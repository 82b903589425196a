"""What a dispatcher asks of a link."""

from collections.abc import Callable
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
    """

    resync_budget_s: float

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

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        """Bring the link to where the next reply belongs to the next query.

        Args:
            owed: How many replies were asked for and never read; 0 where the next message
                expects no reply, and stale ones do no harm yet.
            lost: Whether a message may have been cut short or the path is gone: then what
                is written next would be misread, and the path must be renewed.
            discard: To be called for each stale reply that is thrown away.

        Raises:
            LinkLost: It can't be done.
        """

    async def close(self) -> None:
        """Close the path; harmless if it is closed already."""


@runtime_checkable
class DeadlineLink(Link, Protocol):
    """A link whose calls block, want a timeout of their own, and may be left behind.

    Attributes:
        deadline_s: Monotonic time at which the transaction in progress will be given up;
            the dispatcher sets it before each one.
    """

    deadline_s: float

    @property
    def lost(self) -> bool:
        """Whether nothing can be sent before the link is resynchronised."""

    @property
    def has_unread(self) -> bool:
        """Whether something has come that nobody has read, as far as the link can know."""


@runtime_checkable
class InterruptibleLink(Link, Protocol):
    """A link whose transaction in flight can be broken off for something more urgent.

    Attributes:
        interrupt_budget_s: Seconds after which the next message can be written, counted from
            the call of `interrupt`; None: this link, as it is open now, offers nothing of
            the kind, and `interrupt` is not called.
    """

    @property
    def interrupt_budget_s(self) -> float | None:
        """See above."""

    async def interrupt(self, timeout_s: float) -> None:
        """Free the link, so that the next message can be written, or else say that it is lost.

        The call in progress is cancelled at the same time, and nothing else is called until
        this returns. For a link whose calls end at once when they are cancelled there may be
        nothing left to do.

        Args:
            timeout_s: Seconds after which this is given up, and the link taken for lost.

        Raises:
            LinkLost: It can't be done; the link is taken for lost.
        """


@runtime_checkable
class InstrumentLink(DeadlineLink, Protocol):
    """A link that a bench can open by itself, and that knows whom it talks to."""

    @property
    def identity(self) -> bytes | None:
        """The answer to the identity query; None before `open`, or where there is no query."""

    async def open(self, timeout_s: float) -> object:
        """Open the path and ask for the identity, within ``timeout_s`` seconds.

        Raises:
            LinkLost: It can't be opened, or nobody answers.
        """
