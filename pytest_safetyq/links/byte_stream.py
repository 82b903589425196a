"""The bytes of one open path, as asyncio's transports carry them: sockets and serial ports."""

import asyncio
from collections.abc import Callable

from pytest_safetyq.errors import LinkLost
from pytest_safetyq.links.reply_framer import Framed, ReplyFramer


class ByteStream(asyncio.Protocol):
    """Writes messages and reads replies; both wait for as long as whoever calls lets them.

    Args:
        resource: The resource name, for errors.
        framer: Finds the replies in the bytes.
        purge: Called with the transport before it is aborted, to throw away what the system
            still holds of a message; None: aborting does that.
    """

    def __init__(
        self,
        resource: str,
        framer: ReplyFramer,
        purge: Callable[[asyncio.BaseTransport], None] | None = None,
    ) -> None:
        self._resource = resource
        self._framer = framer
        self._purge = purge
        self._transport: asyncio.Transport | None = None
        self._drained: asyncio.Future[None] | None = None
        self._reply: asyncio.Future[Framed] | None = None
        self._failure: LinkLost | None = None
        self._opened = asyncio.Event()
        self._closed = asyncio.Event()

    @property
    def lost(self) -> LinkLost | None:
        """Why the path is gone; None: it isn't."""
        return self._failure

    @property
    def has_unread(self) -> bool:
        """Whether something has come that nobody asked for."""
        return self._framer.has_content

    async def write(self, message: bytes) -> None:
        """Send ``message``; return when all of it is the system's.

        Cancelled before that, the path is closed: what comes next would be read as the rest.

        Raises:
            LinkLost: The path is gone.
        """
        transport = self._require()
        transport.write(message)
        if self._drained is not None:
            try:
                await self._drained
            except asyncio.CancelledError:
                self._fail(LinkLost(f"{self._resource}: a message was cut short"))
                raise
        self._require()  # a path that breaks as it is written to says so at once

    async def read(self) -> Framed:
        """Return the next reply.

        Raises:
            LinkLost: The path is gone, or the reply is too long.
        """
        try:
            reply = self._framer.next_reply()
        except LinkLost as error:
            self._fail(LinkLost(f"{self._resource}: {error}"))
        else:
            if reply is not None:  # it may have come before the path broke
                return reply
        self._require()
        self._reply = asyncio.get_running_loop().create_future()
        try:
            return await self._reply
        finally:
            self._reply = None

    async def opened(self) -> None:
        """Wait until the path is open: pyserial-asyncio says it is a little before it is."""
        await self._opened.wait()

    async def close(self) -> None:
        """Close the path at once, and wait until it is; what isn't written is thrown away."""
        self._fail(LinkLost(f"{self._resource}: closed"))
        if self._transport is not None:
            await self._closed.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; a write has ended when nothing of it is left here."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=0)
        self._opened.set()

    def data_received(self, data: bytes) -> None:
        """Take what has arrived, and hand it to whoever waits for it."""
        self._framer.feed(data)
        waiting = self._reply
        if waiting is None or waiting.done():
            if self._framer.is_overfull:
                self._fail(LinkLost(f"{self._resource}: it sends, and nobody asks"))
            return
        try:
            reply = self._framer.next_reply()
        except LinkLost as error:
            self._fail(LinkLost(f"{self._resource}: {error}"))
        else:
            if reply is not None:
                waiting.set_result(reply)

    def eof_received(self) -> None:
        """Take the instrument's end of the connection for the end of it."""
        self._fail(LinkLost(f"{self._resource}: the instrument has closed the connection"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits that the path is gone."""
        self._closed.set()
        why = f"the connection broke: {exc}" if exc is not None else "the connection is closed"
        self._fail(LinkLost(f"{self._resource}: {why}"))

    def pause_writing(self) -> None:
        """Let a write wait: the system takes no more."""
        self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """Let the write return."""
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    def _require(self) -> asyncio.Transport:
        if self._failure is not None:
            raise LinkLost(str(self._failure))
        if self._transport is None:
            raise LinkLost(f"{self._resource}: not open")
        return self._transport

    def _fail(self, failure: LinkLost) -> None:
        if self._failure is not None:
            return
        self._failure = failure
        for waiting in (self._reply, self._drained):
            if waiting is not None and not waiting.done():
                waiting.set_exception(LinkLost(str(failure)))
        if self._transport is not None:
            if self._purge is not None:
                self._purge(self._transport)
            self._transport.abort()
