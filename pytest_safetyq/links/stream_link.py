"""`StreamLink`: an instrument at the other end of a stream of bytes, in native asyncio."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Self

from pytest_safetyq.errors import LinkLost
from pytest_safetyq.links.byte_stream import ByteStream
from pytest_safetyq.links.identity import IdentityCheck
from pytest_safetyq.links.pace import Pace
from pytest_safetyq.links.protocol import RawBytes

Connect = Callable[[], Awaitable[ByteStream]]


CLOSE_S = 0.2
"""Seconds that closing a path gets before the next one is opened all the same."""


class StreamLink:
    """One instrument behind a socket or a serial port.

    Nothing blocks: every call can be cancelled at any moment, and a deadline is nothing else.

    Args:
        resource: The resource name, for errors.
        connect: Opens the path.
        write_terminator: Appended to messages that don't end with it.
        identity_query: A query whose answer never changes, such as ``*IDN?``; None: there is
            none, and a link that is dirty with an unanswered query is reopened.
        resync_budget_s: Seconds that `resynchronise` may take.
        ends_with_path: Whether a message that was cut short ends when the path is closed, as
            on a socket; the rest of one on a serial port is ended by a terminator.
        gap_s: Least seconds between two messages.

    Attributes:
        deadline_s: Set by the dispatcher, and not needed: it cancels a call that overstays.
    """

    def __init__(
        self,
        resource: str,
        connect: Connect,
        *,
        write_terminator: bytes = b"\n",
        identity_query: bytes | None = b"*IDN?",
        resync_budget_s: float = 2.0,
        ends_with_path: bool = True,
        gap_s: float = 0.0,
    ) -> None:
        self._resource = resource
        self._connect = connect
        self._write_terminator = write_terminator
        self._check = IdentityCheck(identity_query)
        self._pace = Pace(gap_s)
        self._stream: ByteStream | None = None
        self._ends_with_path = ends_with_path
        self._prefix = b""
        self._raw = False
        self.resync_budget_s = resync_budget_s
        self.deadline_s = 0.0

    @property
    def identity(self) -> bytes | None:
        """The answer to the identity query; None before `open`."""
        return self._check.identity

    @property
    def lost(self) -> bool:
        """Whether the path is gone: seen as soon as the system knows."""
        return self._stream is None or self._stream.lost is not None

    @property
    def has_unread(self) -> bool:
        """Whether a reply has come that nobody asked for, or part of one."""
        return self._stream is not None and self._stream.has_unread

    async def open(self, timeout_s: float) -> Self:
        """Open the path and ask for the identity, within ``timeout_s`` seconds.

        Raises:
            LinkLost: It can't be opened, or nobody answers.
        """
        what = "can't be opened"
        until = time.monotonic() + timeout_s
        self._prefix = b"" if self._ends_with_path else self._write_terminator
        try:
            async with asyncio.timeout(timeout_s):
                self._stream = await self._connect()
                if (query := self._check.query) is not None:
                    what = f"no answer to {query.decode('latin-1')}"
                    await self._check.learn(self.write, self._read_until, until)
        except TimeoutError as error:
            await self.close()
            raise LinkLost(f"{self._resource}: {what} in {timeout_s:g} s") from error
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
        prefix, self._prefix = self._prefix, b""
        try:
            await self._required().write(prefix + message)
        finally:
            self._pace.sent()

    async def read(self) -> bytes:
        """Return the reply, without its terminator unless it answers `RawBytes`."""
        reply = await self._required().read()
        self._check.answered()
        return reply.wire if self._raw else reply.content

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        """Clear the link up, or reopen it where that fails or the path is lost.

        Where the next message expects no reply, nothing is asked of the instrument: an
        ``OUTP OFF`` doesn't wait for an identity.
        """
        until = time.monotonic() + self.resync_budget_s
        if not lost and not self.lost:
            if not owed and not self.has_unread:
                return
            # A new path is the last step, and says itself if it fails.
            with contextlib.suppress(TimeoutError, LinkLost):
                await self._clear_up(owed, time.monotonic() + self.resync_budget_s / 2, discard)
                return
        await self.close()
        async with asyncio.timeout(until - time.monotonic()):
            self._stream = await self._connect()
        if not self._ends_with_path:
            self._prefix = self._write_terminator
        if owed and self._check.query is not None:
            await self._check.read_up_to(self.write, self._read_until, until, discard)

    async def close(self) -> None:
        """Close the path at once; some instruments take one connection only."""
        stream, self._stream = self._stream, None
        if stream is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await stream.close()

    async def _clear_up(self, owed: int, until_s: float, discard: Callable[[], None]) -> None:
        if self._check.query is not None:
            await self._check.read_up_to(self.write, self._read_until, until_s, discard)
            return
        for _ in range(owed):
            await self._read_until(until_s)
            discard()
        self._check.answered()

    async def _read_until(self, until_s: float) -> bytes:
        async with asyncio.timeout(until_s - time.monotonic()):
            return (await self._required().read()).content

    def _required(self) -> ByteStream:
        if self._stream is None:
            raise LinkLost(f"{self._resource}: not open")
        return self._stream
