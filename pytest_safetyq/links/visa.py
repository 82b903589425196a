"""`VisaLink`: any PyVISA backend, in a daemon thread, under wall-clock deadlines."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Self, TypeVar

from pytest_safetyq.errors import LinkLost
from pytest_safetyq.links.breaking import BREAK_S, RENEW_S, Breaker
from pytest_safetyq.links.daemon import DaemonThread
from pytest_safetyq.links.identity import IdentityCheck
from pytest_safetyq.links.pace import Pace
from pytest_safetyq.links.protocol import RawBytes
from pytest_safetyq.links.visa_session import VisaAddress, VisaSession, one_line

log = logging.getLogger("pytest_safetyq.links")

T = TypeVar("T")

RETURN_GRACE_S = 0.01
"""Seconds that a backend gets to return from a call whose time is up."""

AGAIN_S = 0.01
"""Seconds that a call that was broken off gets to return before it is broken off once more."""

CLOSE_S = 0.2
"""Seconds that closing a session gets before the next one is opened all the same."""


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
        gap_s: Least seconds between two messages.

    Attributes:
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
        gap_s: float = 0.0,
    ) -> None:
        self._address = address
        self._write_terminator = write_terminator
        self._check = IdentityCheck(identity_query)
        self._pace = Pace(gap_s)
        self._device_clear = device_clear
        self._thread: DaemonThread | None = None
        self._session: VisaSession | None = None
        self._raw = False
        self._overstayed = False
        self._left_behind: list[DaemonThread] = []
        self.resync_budget_s = resync_budget_s
        self.deadline_s = 0.0

    @property
    def identity(self) -> bytes | None:
        """The answer to the identity query; None before `open`."""
        return self._check.identity

    @property
    def lost(self) -> bool:
        """Whether there is no session, or one that is stuck in a call whose time is up."""
        if self._session is None or self._thread is None:
            return True
        return self._overstayed and self._thread.is_busy()

    @property
    def interrupt_budget_s(self) -> float | None:
        """Seconds after which `interrupt` lets a message be written; None: not offered."""
        offered = self._session is not None and self._session.breaker is not None
        return BREAK_S + RENEW_S if offered else None

    @property
    def has_unread(self) -> bool:
        """False: a blocking session can only find out by waiting for it."""
        return False

    async def open(self, timeout_s: float) -> Self:
        """Open the session and ask for the identity, within ``timeout_s`` seconds.

        Raises:
            LinkLost: It can't be opened, or nobody answers.
        """
        self.deadline_s = time.monotonic() + timeout_s
        what = "can't be opened"
        try:
            async with asyncio.timeout(timeout_s + RETURN_GRACE_S):
                await self._open_session()
                if (query := self._check.query) is not None:
                    what = f"no answer to {query.decode('latin-1')}"
                    await self.write(query)
                    self._check.identity = await self.read()
        except TimeoutError as error:
            await self.close()
            raise LinkLost(f"{self._address.resource}: {what} in {timeout_s:g} s") from error
        except LinkLost as error:
            await self.close()
            if self.identity is None and what.startswith("no answer"):
                raise LinkLost(f"{self._address.resource}: {what}: {error}") from error
            raise
        except BaseException:
            await self.close()
            raise
        return self

    async def write(self, payload: bytes, /) -> None:
        """Send one message, with its terminator unless it is `RawBytes`."""
        self._raw = isinstance(payload, RawBytes)
        message = bytes(payload)
        if not self._raw and not message.endswith(self._write_terminator):
            message += self._write_terminator
        await self._pace.keep()
        self._check.sent(payload)
        try:
            await self._call(lambda session: session.write(message, self.deadline_s))
        finally:
            self._pace.sent()

    async def read(self) -> bytes:
        """Return the reply, without its terminator unless it answers `RawBytes`."""
        reply = await self._read()
        self._check.answered()
        return reply if self._raw else self._stripped(reply)

    async def interrupt(self, timeout_s: float) -> None:
        """Break off the call in progress by a channel beside it.

        The call itself has been cancelled by then, so that no other follows it. Where
        that costs the session, or the call goes on all the same, a new one is opened.
        """
        thread, session = self._thread, self._session
        until = time.monotonic() + timeout_s
        if thread is None or session is None or session.breaker is None:
            return
        freed = await self._broken_off(session.breaker, thread, min(BREAK_S, timeout_s))
        if not (freed and session.breaker.keeps_session):
            self.deadline_s = until
            async with asyncio.timeout(until - time.monotonic()):
                await self._close_before_opening()
                await self._open_session()

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        """Clear the link up, or reopen it where that fails or the path is lost.

        Where the next message expects no reply, nothing is asked of the instrument: an
        ``OUTP OFF`` doesn't wait for an identity.
        """
        until = time.monotonic() + self.resync_budget_s
        if not lost and not self.lost:
            self.deadline_s = time.monotonic() + self.resync_budget_s / 2
            # A new session is the last step, and says itself if it fails.
            with contextlib.suppress(TimeoutError, LinkLost):
                await self._clear_up(owed, discard)
                return
        self.deadline_s = until
        await self._close_before_opening()
        await self._open_session()
        if owed and self._check.query is not None:
            # Half of what is left: one that never returns must not use up all of it.
            await self._await_left_behind((time.monotonic() + until) / 2)
            await self._read_up_to_identity(discard)

    async def close(self) -> None:
        """Close the session; a thread that is stuck in a call closes it when it returns."""
        thread, session = self._thread, self._session
        self._thread = self._session = None
        if thread is not None:
            if thread.is_busy():
                self._left_behind.append(thread)
            thread.end(session.close if session is not None else None)

    async def _broken_off(self, breaker: Breaker, thread: DaemonThread, timeout_s: float) -> bool:
        """Break off the call that ``thread`` is in; return whether it has ended."""
        # A thread of its own, as this may hang just as what it is to free.
        aside = DaemonThread(f"safetyq interrupt {self._address.resource}")
        until_s = time.monotonic() + timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                await aside.call(lambda: breaker.break_off(until_s))
                while not await thread.settled(AGAIN_S):
                    # It came before the call that it was meant for.
                    await aside.call(lambda: breaker.break_off(until_s))
        except TimeoutError:
            log.warning("%s: not interrupted in %g s", self._address.resource, timeout_s)
        except Exception as error:  # noqa: BLE001 - a backend raises what it likes
            log.warning("%s: not interrupted: %s", self._address.resource, one_line(error))
        else:
            return True
        finally:
            aside.end()
        return False

    async def _close_before_opening(self) -> None:
        """Close the session, and wait for that if it can be: some instruments take one only."""
        thread = self._thread
        stuck = thread is not None and thread.is_busy()
        await self.close()
        if thread is not None and not stuck:
            await thread.settled(CLOSE_S)

    async def _open_session(self) -> None:
        address, timeout_s = self._address, self.deadline_s - time.monotonic()
        opened: list[VisaSession] = []
        thread = DaemonThread(f"safetyq {address.resource}")
        try:
            await thread.call(lambda: opened.append(VisaSession(address, timeout_s)))
        except BaseException:
            # One that opens when nobody waits for it any more is closed again.
            thread.end(lambda: _close_all(opened))
            raise
        self._thread, self._session = thread, opened[0]
        self._overstayed = False

    async def _clear_up(self, owed: int, discard: Callable[[], None]) -> None:
        """Discard what is owed, and know it: by the answer to the identity query."""
        if self._device_clear:
            await self._call(lambda session: session.clear(self.deadline_s))
        if self._check.query is not None:
            await self._read_up_to_identity(discard)
        elif not self._device_clear:  # which leaves no reply to wait for
            for _ in range(owed):
                await self._read()
                discard()
        self._check.answered()

    async def _read_up_to_identity(self, discard: Callable[[], None]) -> None:
        await self._check.read_up_to(self.write, self._read_until, self.deadline_s, discard)

    async def _read_until(self, until_s: float) -> bytes:
        self.deadline_s = until_s
        return self._stripped(await self._read())

    async def _await_left_behind(self, until: float) -> None:
        """Wait for threads that are still in a call: they would take our replies."""
        self._left_behind = [thread for thread in self._left_behind if thread.is_busy()]
        for thread in self._left_behind:
            await thread.settled(max(0.0, until - time.monotonic()))

    async def _read(self) -> bytes:
        return await self._call(lambda session: session.read(self.deadline_s))

    async def _call(self, function: Callable[[VisaSession], T]) -> T:
        """Run ``function`` on the session in the thread.

        Raises:
            LinkLost: There is no session, or an earlier call of it has not returned yet.
        """
        thread, session = self._thread, self._session
        if thread is None or session is None or thread.is_busy():
            raise LinkLost(f"{self._address.resource}: no session")
        self._overstayed = False  # one that was given up has returned by now
        try:
            return await thread.call(lambda: function(session))
        except asyncio.CancelledError:
            if thread is self._thread:
                # At once: whoever looks must not take it for free until the grace is over.
                self._overstayed = True
            # The backend's own timeout ends about now: the session may be good for more.
            await thread.settled(RETURN_GRACE_S)
            raise

    def _stripped(self, reply: bytes) -> bytes:
        return reply.removesuffix(self._address.read_terminator).strip(b"\r\n")


def _close_all(sessions: list[VisaSession]) -> None:
    for session in sessions:
        session.close()
