"""The server: who may speak to the supervisor, and what the end of a connection means."""

import asyncio
import hmac
import logging
import time
from collections.abc import Callable

from pytest_safetyq.bench.endpoint import Endpoint
from pytest_safetyq.bench.supervisor.outbox import Outbox
from pytest_safetyq.bench.supervisor.rack import Rack
from pytest_safetyq.bench.supervisor.session import Session
from pytest_safetyq.bench.wire.framing import (
    MAX_FRAME_BYTES,
    MAX_HELLO_BYTES,
    RECEIVE_BYTES,
    FrameError,
    FrameParser,
    parser_for_supervisor,
)
from pytest_safetyq.bench.wire.messages import PROTOCOL, Done, Failed, Hello, ToSupervisor

log = logging.getLogger("pytest_safetyq.bench")

HELLO_TIMEOUT_S = 5.0
FIRST_CLIENT_TIMEOUT_S = 20.0


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
        self._ending: asyncio.Task[None] | None = None
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

    def told_to_end(self, signal_name: str) -> None:
        """Trip because of a signal, then finish; a second signal changes nothing."""
        if self._ending is None:
            self.rack.ending = f"the supervisor was told to end ({signal_name})"
            self._ending = asyncio.create_task(self._trip_and_finish(self.rack.ending))

    async def _trip_and_finish(self, reason: str) -> None:
        try:
            await self.alarm(reason)
        finally:
            self.finish()

    def finish(self) -> None:
        """Let `run_until_finished` go on."""
        self._finished.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self._writers.add(writer)
        incoming = _Incoming(reader)
        outbox = Outbox(writer)
        try:
            hello = await self._welcome(incoming, outbox)
            if hello is not None:
                await self._converse(hello, incoming, outbox)
        finally:
            self._connections.discard(task)
            self._writers.discard(writer)
            writer.close()

    async def _welcome(self, incoming: "_Incoming", outbox: Outbox) -> Hello | None:
        """Return the client's introduction; None if it may not come in."""
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                message = await incoming.message()
        except (FrameError, TimeoutError, OSError, EOFError) as error:
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
            outbox.send(Failed(id=message.id, kind="SafetyError", message=text))
            return None
        incoming.parser.limit = MAX_FRAME_BYTES
        outbox.send(Done(id=message.id))
        return message

    async def _converse(self, hello: Hello, incoming: "_Incoming", outbox: Outbox) -> None:
        session = Session(self.rack, outbox.send, hello.who)
        if not hello.guest:
            self._owners += 1
        ending = "ended without a goodbye"
        try:
            while not session.said_goodbye:
                session.take(await incoming.message())
                # A burst of messages is read without a pause; what they start must start.
                await asyncio.sleep(0)
        except FrameError as error:
            ending = f"sent what is no message ({error})"
        except (OSError, EOFError):
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


class _Incoming:
    """What one client says, message by message."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.parser: FrameParser[ToSupervisor] = parser_for_supervisor(MAX_HELLO_BYTES)

    async def message(self) -> ToSupervisor:
        """Return the next message.

        Raises:
            FrameError: It is none.
            EOFError: The client has gone.
            OSError: The connection is broken.
        """
        while (message := self.parser.next_message()) is None:
            chunk = await self._reader.read(RECEIVE_BYTES)
            if not chunk:
                raise EOFError("it ended before it had said who it is")
            self.parser.feed(chunk)
        return message
