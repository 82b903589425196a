"""`VisaLink`: any PyVISA backend, in a daemon thread, under wall-clock deadlines."""

import contextlib
import time
from collections.abc import Callable
from typing import Self, TypeVar

from pytest_safetyq.errors import LinkLost
from pytest_safetyq.links.daemon import DaemonThread
from pytest_safetyq.links.protocol import RawBytes
from pytest_safetyq.links.visa_session import VisaAddress, VisaSession

T = TypeVar("T")

RETURN_GRACE_S = 0.015
"""Seconds that a backend gets to return from a call whose time is up."""

QUIET_S = 0.25
"""Seconds of silence after which no second copy of an identity is expected any more."""


class VisaLink:
    """One instrument behind PyVISA.

    A backend's own timeout is set to what remains of the budget, and not relied upon: a
    call that overstays is left behind in its thread together with its session, and a new
    session is opened in a new thread.

    Args:
        address: What to open.
        write_terminator: Appended to messages that don't end with it.
        identity_query: A query whose answer never changes, such as ``*IDN?``; None: there
            is none, and a link that is dirty with an unanswered query is reopened.
        device_clear: Whether the instrument takes a device clear well.
        resync_budget_s: Seconds that `resynchronise` may take.

    Attributes:
        identity: The answer to ``identity_query``, as bytes; None before `open`.
        deadline_s: Monotonic time until which the call in progress may take; set by the
            dispatcher.
    """

    def __init__(
        self,
        address: VisaAddress,
        *,
        write_terminator: bytes = b"\n",
        identity_query: bytes | None = b"*IDN?",
        device_clear: bool = False,
        resync_budget_s: float = 2.0,
    ) -> None:
        self._address = address
        self._write_terminator = write_terminator
        self._identity_query = identity_query
        self._device_clear = device_clear
        self._thread: DaemonThread | None = None
        self._session: VisaSession | None = None
        self._raw = False
        self._unanswered: list[bytes] = []
        self.resync_budget_s = resync_budget_s
        self.deadline_s = 0.0
        self.identity: bytes | None = None

    async def open(self, timeout_s: float) -> Self:
        """Open the session and ask for the identity, within ``timeout_s`` seconds.

        Raises:
            LinkLost: It can't be opened, or nobody answers.
        """
        self.deadline_s = time.monotonic() + timeout_s
        await self._open_session()
        try:
            self.identity = await self._ask_identity()
        except (TimeoutError, LinkLost) as error:
            await self.close()
            raise LinkLost(
                f"{self._address.resource}: no answer to {self._identity_query!r}: {error}"
            ) from error
        return self

    async def write(self, payload: bytes, /) -> None:
        """Send one message, with its terminator unless it is `RawBytes`."""
        self._raw = isinstance(payload, RawBytes)
        message = bytes(payload)
        if not self._raw and not message.endswith(self._write_terminator):
            message += self._write_terminator
        self._unanswered.append(bytes(payload))
        await self._call(lambda session: session.write(message, self.deadline_s))

    async def read(self) -> bytes:
        """Return the reply, without its terminator unless it answers `RawBytes`."""
        reply = await self._read()
        self._unanswered.clear()
        return reply if self._raw else self._stripped(reply)

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        """Clear the link up, or reopen it where that fails or the path is lost."""
        until = time.monotonic() + self.resync_budget_s
        if not lost and self._thread is not None and not self._thread.is_busy():
            self.deadline_s = time.monotonic() + self.resync_budget_s / 2
            # A new session is the last step, and says itself if it fails.
            with contextlib.suppress(TimeoutError, LinkLost):
                await self._clear_up(owed, discard)
                return
        self.deadline_s = until
        await self._reopen(discard)

    async def close(self) -> None:
        """Close the session; a thread that is stuck in a call closes it when it returns."""
        thread, session = self._thread, self._session
        self._thread = self._session = None
        if thread is not None:
            thread.end(session.close if session is not None else _nothing)

    async def _open_session(self) -> None:
        address, timeout_s = self._address, self.deadline_s - time.monotonic()
        self._thread = DaemonThread(f"safetyq {address.resource}")
        try:
            self._session = await self._thread.call(lambda: VisaSession(address, timeout_s))
        except BaseException:
            await self.close()
            raise
        self._unanswered.clear()

    async def _reopen(self, discard: Callable[[], None]) -> None:
        await self.close()
        await self._open_session()
        if self._identity_query is not None:
            await self._read_up_to_identity(self._identity_query, discard)

    async def _clear_up(self, owed: int, discard: Callable[[], None]) -> None:
        """Discard what is owed, and know it: by the answer to the identity query."""
        if self._device_clear:
            await self._call(lambda session: session.clear(self.deadline_s))
        if self._identity_query is not None:
            await self._read_up_to_identity(self._identity_query, discard)
            return
        for _ in range(owed):
            await self._read()
            discard()
        self._unanswered.clear()

    async def _read_up_to_identity(self, query: bytes, discard: Callable[[], None]) -> None:
        """Ask for the identity and discard what comes before it.

        An instrument answers in order. Only where an identity itself is among what is owed
        could the first one be the stale one: then silence has to follow it.
        """
        ambiguous = query in self._unanswered
        await self.write(query)
        while self._stripped(await self._read()) != self.identity:
            discard()
        if ambiguous:
            await self._read_until_quiet(discard)
        self._unanswered.clear()

    async def _read_until_quiet(self, discard: Callable[[], None]) -> None:
        with contextlib.suppress(TimeoutError):
            while True:
                self.deadline_s = time.monotonic() + QUIET_S
                await self._read()
                discard()

    async def _ask_identity(self) -> bytes | None:
        if self._identity_query is None:
            return None
        await self.write(self._identity_query)
        return await self.read()

    async def _read(self) -> bytes:
        return await self._call(lambda session: session.read(self.deadline_s))

    async def _call(self, function: Callable[[VisaSession], T]) -> T:
        """Run ``function`` on the session in the thread.

        Raises:
            LinkLost: There is no session, or the backend has not returned although its time
                is up.
        """
        thread, session = self._thread, self._session
        if thread is None or session is None or thread.is_busy():
            raise LinkLost(f"{self._address.resource}: no session")
        try:
            return await thread.call(lambda: function(session))
        except BaseException:
            if thread.is_busy() and not await thread.settled(RETURN_GRACE_S):
                raise LinkLost(
                    f"{self._address.resource}: the VISA library has not returned in time"
                ) from None
            raise

    def _stripped(self, reply: bytes) -> bytes:
        return reply.removesuffix(self._address.read_terminator).rstrip(b"\r\n")


def _nothing() -> None:
    """Do nothing: there is no session to close."""
