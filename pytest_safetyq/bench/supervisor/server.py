"""The server: who may speak to the supervisor, and what the end of a connection means."""

import asyncio
import hmac
import logging
import time
from collections.abc import Callable

from pytest_safetyq.bench.endpoint import Endpoint
from pytest_safetyq.bench.supervisor.rack import Rack
from pytest_safetyq.bench.supervisor.session import Session
from pytest_safetyq.bench.wire.framing import (
    HEADER_BYTES,
    MAX_FRAME_BYTES,
    MAX_HELLO_BYTES,
    FrameError,
    body_length,
    decode_for_supervisor,
    encode,
)
from pytest_safetyq.bench.wire.messages import PROTOCOL, Done, Failed, Hello, Message

log = logging.getLogger("pytest_safetyq.bench")

HELLO_TIMEOUT_S = 5.0
FIRST_CLIENT_TIMEOUT_S = 20.0
MAX_UNREAD_BYTES = 32 * 1024 * 1024
"""What may pile up for a client that doesn't read; then it counts as dead."""


class Server:
    """Accepts clients, and trips when one that isn't a guest ends without a goodbye.

    Args:
        endpoint: Where it listens.
        say: Tells the people at the terminal something in one line.
    """

    def __init__(self, endpoint: Endpoint, say: Callable[[str], None]) -> None:
        self._endpoint = endpoint
        self._say = say
        self._owners = 0
        self._finished = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.rack = Rack()

    async def run_until_finished(self) -> None:
        """Wait until the last client but guests has gone; close everything."""
        loop = asyncio.get_running_loop()
        nobody = loop.call_later(FIRST_CLIENT_TIMEOUT_S, self._finish_if_alone)
        await self._finished.wait()
        nobody.cancel()
        for writer in self._writers:
            writer.transport.abort()  # the conversations end by themselves
        if self._connections:
            await asyncio.wait(self._connections)
        await self.rack.close()

    async def alarm(self, reason: str) -> None:
        """Trip the bench because of ``reason``, and tell how it went."""
        report = await self.rack.enter_safe_state(reason, time.monotonic())
        for one in report.by_instrument.values():
            self._say(f"safetyq: {reason}: {one}")

    def finish(self) -> None:
        """Let `run_until_finished` go on."""
        self._finished.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self._writers.add(writer)
        try:
            hello = await self._welcome(reader, writer)
            if hello is not None:
                await self._converse(hello, reader, writer)
        finally:
            self._connections.discard(task)
            self._writers.discard(writer)
            writer.close()

    async def _welcome(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Hello | None:
        """Return the client's introduction; None if it may not come in."""
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                message = decode_for_supervisor(await _frame(reader, MAX_HELLO_BYTES))
        except (FrameError, TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            why = str(error) or type(error).__name__
            self._say(f"safetyq: a connection was refused: {why}")
            return None
        if not isinstance(message, Hello) or not hmac.compare_digest(
            message.token.encode(), self._endpoint.token.encode()
        ):
            self._say("safetyq: a connection was refused: it doesn't know the token of this run")
            return None
        if message.protocol != PROTOCOL:
            text = f"protocol {message.protocol} is spoken, this supervisor speaks {PROTOCOL}"
            writer.write(encode(Failed(id=message.id, kind="SafetyError", message=text)))
            return None
        writer.write(encode(Done(id=message.id)))
        return message

    async def _converse(
        self, hello: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        def send(message: Message) -> None:
            writer.write(encode(message))
            if writer.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
                writer.transport.abort()

        session = Session(self.rack, send)
        if not hello.guest:
            self._owners += 1
        ending = "ended without a goodbye"
        try:
            while not session.said_goodbye:
                session.take(decode_for_supervisor(await _frame(reader, MAX_FRAME_BYTES)))
                # A burst of messages is read without a pause; what they start must start.
                await asyncio.sleep(0)
        except FrameError as error:
            ending = f"sent what is no message ({error})"
        except (OSError, asyncio.IncompleteReadError):
            pass  # the connection is at its end, which is judged below
        except Exception as error:  # a defect of ours must not leave anything on
            log.exception("a conversation has failed")
            ending = f"could not be served ({error!r})"
        await self._after(hello, session, ending)

    async def _after(self, hello: Hello, session: Session, ending: str) -> None:
        """Judge the end of a connection: without a goodbye it is the alarm."""
        if hello.guest:
            await session.end()
            return
        if not session.said_goodbye and not self._finished.is_set():
            await self.alarm(f"{hello.who} {ending}")
        await session.end()
        self._owners -= 1
        self._finish_if_alone()

    def _finish_if_alone(self) -> None:
        if self._owners == 0:
            self.finish()


async def _frame(reader: asyncio.StreamReader, limit: int) -> bytes:
    length = body_length(await reader.readexactly(HEADER_BYTES), limit)
    return await reader.readexactly(length)
