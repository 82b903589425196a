"""A VISA library that does what a test says, in the place of PyVISA."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from pytest_safetyq import LinkLost
from pytest_safetyq.links.breaking import Breaker
from pytest_safetyq.links.visa import VisaLink
from pytest_safetyq.links.visa_session import VisaAddress

T = TypeVar("T")

IDENTITY = b"ACME,1,2,3"
ADDRESS = VisaAddress(resource="GPIB0::5::INSTR")

LOADED_S = 0.25
"""Seconds that a busy machine may add to a wait; what is told apart differs by more."""


class OpenLink(Protocol):
    """Opens a link to the instrument, with a short resynchronisation unless it is said."""

    async def __call__(self, **settings: Any) -> VisaLink: ...


class Instrument:
    """What is behind all sessions: it answers in order, and keeps what nobody has read.

    Attributes:
        answers: For each message, without terminator, the reply and the seconds until it
            is due; what isn't listed is not answered.
        events: What happened, in order: ``open``, ``close``, ``clear``, and messages.
        sessions: Every session that was opened.
        open_hook: Called while a session is being opened, in its thread.
        close_s: Seconds that closing takes.
        clears: Whether it knows a device clear.
        forgets: Whether unread replies end with the session.
        exclusive: Whether only one session may be open at a time.
        stuck: While set, a read waits for ``release`` and not for its timeout.
        release: Lets calls that are stuck return.
        breaker: What its sessions offer to break a call off, or None.
    """

    def __init__(self) -> None:
        self.answers: dict[bytes, tuple[bytes, float]] = {b"*IDN?": (IDENTITY + b"\n", 0.0)}
        self.once: dict[bytes, deque[tuple[bytes, float]]] = {}
        self.events: list[str] = []
        self.sessions: list[Session] = []
        self.open_hook: Callable[[], None] = lambda: None
        self.close_s = 0.0
        self.clears: bool | None = None
        self.forgets = False
        self.exclusive = False
        self.stuck = False
        self.release = threading.Event()
        self.breaker: Breaker | None = None
        self._replies: deque[tuple[float, bytes]] = deque()
        self._last_due_s = 0.0

    @property
    def messages(self) -> list[str]:
        """The messages, without the rest of the events."""
        return [e for e in self.events if e not in ("open", "close", "clear")]

    @property
    def unread(self) -> list[bytes]:
        """Replies that nobody has read."""
        return [reply for _, reply in self._replies]

    def execute(self, message: bytes) -> None:
        self.events.append(message.decode("latin-1"))
        text = message.rstrip(b"\r\n")
        once = self.once.get(text)
        reply, after_s = once.popleft() if once else self.answers.get(text, (b"", 0.0))
        if reply:
            self._last_due_s = max(self._last_due_s, time.monotonic() + after_s)
            self._replies.append((self._last_due_s, reply))

    def read(self, until_s: float) -> bytes:
        if self.stuck:
            self.release.wait(10.0)
            return b"far too late\n"
        due_s = self._replies[0][0] if self._replies else float("inf")
        time.sleep(max(0.0, min(due_s, until_s) - time.monotonic()))
        if due_s > until_s:
            raise TimeoutError("nothing came")
        return self._replies.popleft()[1]

    def clear(self) -> None:
        if self.clears is None:
            raise LinkLost("device clear failed: NotImplementedError")
        self.events.append("clear")
        self._replies.clear()

    def forget(self) -> None:
        self._replies.clear()


class Session:
    """Stands for `VisaSession`."""

    instrument: Instrument

    def __init__(self, address: VisaAddress, timeout_s: float) -> None:
        if self.instrument.exclusive and any(s.is_open for s in self.instrument.sessions):
            raise LinkLost(f"{address.resource} can't be opened: it is in use")
        self.thread = threading.current_thread()
        self.breaker = self.instrument.breaker
        self.is_open = True
        self.instrument.open_hook()
        if self.instrument.forgets:
            self.instrument.forget()
        self.instrument.events.append("open")
        self.instrument.sessions.append(self)

    def write(self, payload: bytes, until_s: float) -> None:
        self._require_own_thread()
        self.instrument.execute(payload)

    def read(self, until_s: float) -> bytes:
        self._require_own_thread()
        return self.instrument.read(until_s)

    def clear(self, until_s: float) -> None:
        self._require_own_thread()
        self.instrument.clear()

    def close(self) -> None:
        self._require_own_thread()
        time.sleep(self.instrument.close_s)
        self.is_open = False
        self.instrument.events.append("close")

    def _require_own_thread(self) -> None:
        assert threading.current_thread() is self.thread, "a session belongs to one thread"
        assert self.is_open, "a closed session was used"


def in_background(work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Start ``work``; a test that fails before it looks at the outcome leaves no noise."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda t: t.cancelled() or t.exception())
    return task


def link_to(**settings: Any) -> VisaLink:
    """Return a link to the instrument, not open yet."""
    return VisaLink(ADDRESS, **{"resync_budget_s": 0.4, **settings})


async def until(condition: Callable[[], object]) -> None:
    """Wait for ``condition``, for 5 s at the most."""
    async with asyncio.timeout(5.0):
        while not condition():  # noqa: ASYNC110 - threads set no event of this loop
            await asyncio.sleep(0.001)


async def ask(link: VisaLink, message: bytes, timeout_s: float = 1.0) -> bytes:
    """Send ``message`` and return the reply."""
    link.deadline_s = time.monotonic() + timeout_s
    await link.write(message)
    return await link.read()
