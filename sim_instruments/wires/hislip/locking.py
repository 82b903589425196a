"""A session's part in the instrument's lock (IVI-6.1, 6.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sim_instruments.wires.hislip.codes import LockResponse
from sim_instruments.wires.instrument_lock import InstrumentLock

_Respond = Callable[[LockResponse], object]


class SessionLock:
    """Takes and releases the lock for one session.

    Args:
        lock: the instrument's lock.
        owner: as whom the lock knows the session.
    """

    def __init__(self, lock: InstrumentLock, owner: object) -> None:
        self._lock = lock
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._end_waiting: Callable[[], None] | None = None

    @property
    def is_held(self) -> bool:
        """Whether the session holds the lock, exclusively or shared."""
        return self._lock.holds_exclusive(self._owner) or self._lock.holds_shared(self._owner)

    def info(self) -> tuple[bool, int]:
        """Whether somebody holds the lock exclusively, and how many hold it in either way."""
        return self._lock.is_exclusive, self._lock.holders

    def request(self, key: bytes, timeout_s: float, respond: _Respond) -> None:
        """Ask for the lock: the shared one under `key`, the exclusive one if that is empty.

        Args:
            key: the lock string.
            timeout_s: how long to wait for it.
            respond: called once, when it is known what came of it.
        """
        holds = self._lock.holds_shared if key else self._lock.holds_exclusive
        if self._end_waiting is not None or holds(self._owner):
            respond(LockResponse.ERROR)
        elif self._take(key):
            respond(LockResponse.EXCLUSIVE)
        elif not timeout_s:
            respond(LockResponse.FAILURE)
        else:
            self._wait(key, timeout_s, respond)

    def release(self) -> LockResponse:
        """Give back the exclusive lock if the session has it, else the shared one."""
        if self._lock.holds_exclusive(self._owner):
            self._lock.release_exclusive(self._owner)
            return LockResponse.EXCLUSIVE
        if self._lock.holds_shared(self._owner):
            self._lock.release_shared(self._owner)
            return LockResponse.SHARED
        return LockResponse.ERROR

    def close(self, *, keep: bool) -> None:
        """Wait no longer, and give back what is held unless it is to be kept."""
        if self._end_waiting is not None:
            self._end_waiting()
        if not keep:
            self._lock.forget(self._owner)

    def _take(self, key: bytes) -> bool:
        if key:
            return self._lock.take_shared(self._owner, key)
        return self._lock.take_exclusive(self._owner)

    def _wait(self, key: bytes, timeout_s: float, respond: _Respond) -> None:
        def end_waiting() -> None:
            self._end_waiting = None
            give_up()
            timer.cancel()

        def attempt() -> bool:
            if not self._take(key):
                return False
            end_waiting()
            respond(LockResponse.EXCLUSIVE)
            return True

        def fail() -> None:
            end_waiting()
            respond(LockResponse.FAILURE)

        give_up = self._lock.wait(attempt)
        timer = self._loop.call_later(timeout_s, fail)
        self._end_waiting = end_waiting
