"""One link: its access to the instrument, its share of the lock, and what it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sim_instruments.port import Port, Reply
from sim_instruments.wires.instrument_lock import InstrumentLock
from sim_instruments.wires.vxi11.codes import DeviceError, ErrorCode, Flag


class Link:
    """A client's link to an instrument (VXI-11 rev. 1.0, B.6.1).

    Args:
        number: what the client calls it.
        port: where its messages go.
        lock: the instrument's lock.
    """

    def __init__(self, number: int, port: Port, lock: InstrumentLock) -> None:
        self.number = number
        self.port = port
        self._lock = lock
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Future[None] | None = None
        self._is_over = False

    @property
    def holds_lock(self) -> bool:
        """Whether the instrument is locked by this link."""
        return self._lock.holds_exclusive(self)

    async def until_unlocked(self, flags: Flag, lock_timeout_s: float) -> None:
        """Wait until no other link's lock is in the way, if the flags say to wait.

        Raises:
            DeviceError: DEVICE_LOCKED, or ABORT.
        """
        await self._until_lock(
            lambda: not self._lock.shuts_out(self), flags & Flag.WAIT_LOCK, lock_timeout_s
        )

    async def lock(self, flags: Flag, lock_timeout_s: float) -> None:
        """Lock the instrument for this link.

        Raises:
            DeviceError: DEVICE_LOCKED, also when this link has locked it already; or ABORT.
        """
        if self.holds_lock:
            raise DeviceError(ErrorCode.DEVICE_LOCKED)
        await self._until_lock(
            lambda: self._lock.take_exclusive(self), flags & Flag.WAIT_LOCK, lock_timeout_s
        )

    def unlock(self) -> None:
        """Give the lock back.

        Raises:
            DeviceError: NO_LOCK_HELD.
        """
        if not self.holds_lock:
            raise DeviceError(ErrorCode.NO_LOCK_HELD)
        self._lock.release_exclusive(self)

    async def next_reply(self, io_timeout_s: float) -> Reply:
        """Wait for the instrument's reply.

        Raises:
            DeviceError: IO_TIMEOUT, or ABORT.
        """
        deadline_s = self._loop.time() + io_timeout_s
        if self.port.due_s() is None:
            self.port.read_without_query()
        while (reply := self.port.take()) is None:
            due_s = self.port.due_s()
            await self._wait(deadline_s - self._loop.time(), ErrorCode.IO_TIMEOUT, due_s)
        return reply

    def abort(self) -> None:
        """End the call of this link that waits, if one does (VXI-11 rev. 1.0, B.6.13)."""
        self._fail(ErrorCode.ABORT)

    def hang_up(self) -> None:
        """Let no call wait any longer, neither this one nor those to come."""
        self._is_over = True
        self.abort()

    def close(self, *, keep_lock: bool = False) -> None:
        """End the link."""
        self.port.close()
        if not keep_lock:
            self._lock.forget(self)

    async def _until_lock(
        self, attempt: Callable[[], bool], waits: Flag, lock_timeout_s: float
    ) -> None:
        if attempt():
            return
        if not waits:
            raise DeviceError(ErrorCode.DEVICE_LOCKED)

        def attempt_if_waiting() -> bool:
            if waiting.done():
                return True
            if not attempt():
                return False
            waiting.set_result(None)
            return True

        waiting = self._loop.create_future()
        give_up = self._lock.wait(attempt_if_waiting)
        try:
            await self._await(waiting, lock_timeout_s, ErrorCode.DEVICE_LOCKED)
        finally:
            give_up()

    async def _wait(self, timeout_s: float, error: ErrorCode, until_s: float | None) -> None:
        waiting = self._loop.create_future()
        alarm = None if until_s is None else self._loop.call_at(until_s, _resolve, waiting)
        try:
            await self._await(waiting, timeout_s, error)
        finally:
            if alarm is not None:
                alarm.cancel()

    async def _await(
        self, waiting: asyncio.Future[None], timeout_s: float, error: ErrorCode
    ) -> None:
        if self._is_over:
            raise DeviceError(ErrorCode.ABORT)
        self._waiting = waiting
        timer = self._loop.call_later(timeout_s, self._fail, error)
        try:
            await waiting
        finally:
            timer.cancel()
            self._waiting = None

    def _fail(self, error: ErrorCode) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(DeviceError(error))


def _resolve(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
