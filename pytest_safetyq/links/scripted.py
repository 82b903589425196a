"""A link that follows a script: for tests of one's own, without an instrument."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_safetyq.errors import LinkLost
from pytest_safetyq.links.draining import drain

Answer = bytes | None | BaseException | Callable[[bytes], bytes | None]


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message that reached the scripted instrument.

    Attributes:
        at_s: When, in monotonic seconds.
        payload: What.
    """

    at_s: float
    payload: bytes


@dataclass(frozen=True, slots=True)
class _Line:
    answer: Answer
    write_s: float
    after_s: float


class ScriptedLink:
    """Plays an instrument: for each message a reply, a delay, silence or an error.

    The instrument executes what it is sent in order and answers in order, as a real one
    does: a reply that was not read stays in its output queue and is what the next read
    gets, unless the link is resynchronised.

    Args:
        replies: What to answer to which message; a callable is given the message. A message
            that isn't listed is swallowed in silence.
        latency_s: Seconds between a message and its reply, unless `on` says otherwise.
        write_s: Seconds that a write takes, unless `on` says otherwise.
        resync_budget_s: Seconds that `resynchronise` waits for owed replies.
        interrupt_budget_s: Seconds that `interrupt` may take; None: it isn't offered.
        interrupt_s: Seconds that `interrupt` takes.

    Attributes:
        sent: Every message that was written, oldest first.
        unread: The replies that wait to be read.
        resynchronised: How often `resynchronise` was called.
        reopened: How many of those calls were for a lost link.
        interrupted: How often `interrupt` was called.
        closed: Whether `close` was called.
    """

    def __init__(
        self,
        replies: Mapping[bytes, Answer] | None = None,
        *,
        latency_s: float = 0.0,
        write_s: float = 0.0,
        resync_budget_s: float = 0.5,
        interrupt_budget_s: float | None = None,
        interrupt_s: float = 0.0,
    ) -> None:
        self._latency_s = latency_s
        self._write_s = write_s
        self._always = {q: _Line(a, write_s, latency_s) for q, a in (replies or {}).items()}
        self._once: dict[bytes, deque[_Line]] = {}
        self._ready = asyncio.Event()
        self._last_due_s = 0.0
        self._interrupt_s = interrupt_s
        self.resync_budget_s = resync_budget_s
        self.interrupt_budget_s = interrupt_budget_s
        self.sent: list[SentMessage] = []
        self.unread: deque[tuple[float, bytes | BaseException]] = deque()
        self.resynchronised = 0
        self.reopened = 0
        self.interrupted = 0
        self.closed = False

    def on(
        self,
        message: bytes,
        *answers: Answer,
        after_s: float | None = None,
        write_s: float | None = None,
    ) -> "ScriptedLink":
        """Give ``answers``, one each, to the next times that ``message`` is sent.

        Args:
            message: The message, bytes as they are written.
            answers: A reply; ``None`` for silence; an exception to raise from the read; or a
                callable that is given the message. After the last, ``replies`` is in force.
            after_s: Seconds between the message and the reply.
            write_s: Seconds that the write takes.
        """
        lines = (
            _Line(
                answer,
                self._write_s if write_s is None else write_s,
                self._latency_s if after_s is None else after_s,
            )
            for answer in answers
        )
        self._once.setdefault(message, deque()).extend(lines)
        return self

    @property
    def payloads(self) -> list[bytes]:
        """What was sent, without the times."""
        return [message.payload for message in self.sent]

    async def write(self, payload: bytes, /) -> None:
        """Take one message and put its answer in the output queue."""
        if self.closed:
            raise LinkLost("the scripted link is closed")
        self.sent.append(SentMessage(time.monotonic(), payload))
        line = self._line_for(payload)
        if line.write_s:
            await asyncio.sleep(line.write_s)
        answer = line.answer(payload) if callable(line.answer) else line.answer
        if answer is not None:
            self._last_due_s = max(self._last_due_s, time.monotonic() + line.after_s)
            self.unread.append((self._last_due_s, answer))
            self._ready.set()

    async def read(self) -> bytes:
        """Return the oldest reply, when it is due."""
        while not self.unread:
            self._ready.clear()
            await self._ready.wait()
        due_s = self.unread[0][0]
        if (wait_s := due_s - time.monotonic()) > 0:
            await asyncio.sleep(wait_s)
        answer = self.unread.popleft()[1]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        """Throw away what is owed; a lost link gets an empty output queue."""
        self.resynchronised += 1
        if lost:
            self.reopened += 1
            while self.unread:
                self.unread.popleft()
                discard()
        else:
            await drain(self.read, owed=owed, budget_s=self.resync_budget_s, discard=discard)

    async def interrupt(self, timeout_s: float) -> None:
        """Break off what the instrument is about: the replies that are not due yet never come."""
        self.interrupted += 1
        await asyncio.sleep(self._interrupt_s)
        now = time.monotonic()
        self.unread = deque(reply for reply in self.unread if reply[0] <= now)
        self._last_due_s = now

    async def close(self) -> None:
        """Close the link; what is written afterwards raises `LinkLost`."""
        self.closed = True

    def _line_for(self, payload: bytes) -> _Line:
        once = self._once.get(payload)
        if once:
            return once.popleft()
        return self._always.get(payload) or _Line(None, self._write_s, self._latency_s)
