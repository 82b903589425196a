"""One read from an instrument: until EOI, a character, or silence (manual, 9.12)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from sim_instruments.faults import UNHARMED, Effect
from sim_instruments.port import Port, Reply


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a read goes.

    Attributes:
        until: what ends it: `"eoi"`, the number of a character, or `None` for only the silence.
        timeout_s: how long it waits for the next byte.
        end_mark: what is appended where EOI was detected.
    """

    until: str | int | None
    timeout_s: float
    end_mark: bytes


class Reading:
    """A read that is under way.

    Args:
        port: the instrument, `None` when nothing is at the address and nothing will come.
        extent: how far it goes.
        deliver: takes what was read, with the faults that strike it.
        finished: called when it is over, unless `start` came to its end already.
    """

    def __init__(
        self,
        port: Port | None,
        extent: Extent,
        deliver: Callable[[bytes, Effect], None],
        finished: Callable[[], None],
    ) -> None:
        self._port = port
        self._extent = extent
        self._deliver = deliver
        self._finished = finished
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._silent_at_s = 0.0
        self.is_over = False

    def start(self) -> None:
        """Read what is there, and wait for what is not."""
        if self._port is not None and self._port.due_s() is None:
            self._port.read_without_query()
        self._expect_more()
        self._read_due()

    def stop(self) -> None:
        """End it without calling anybody."""
        self.is_over = True
        if self._alarm is not None:
            self._alarm.cancel()

    def _read_due(self) -> None:
        while not self.is_over:
            reply = self._port.take() if self._port is not None else None
            if reply is None:
                self._wait()
                return
            self._take(reply)

    def _wake(self) -> None:
        self._alarm = None
        if self._loop.time() < self._silent_at_s:
            self._read_due()
        else:
            self.is_over = True
        if self.is_over:
            self._finished()

    def _take(self, reply: Reply) -> None:
        data = reply.payload
        until = self._extent.until
        if isinstance(until, int) and (end := data.find(until) + 1):
            self._put_back(data[end:])
            mark = self._extent.end_mark if end == len(data) else b""
            self._deliver(data[:end] + mark, reply.effect)
            self.is_over = True
            return
        self._deliver(data + self._extent.end_mark, reply.effect)
        self._expect_more()
        self.is_over = until == "eoi"

    def _put_back(self, rest: bytes) -> None:
        if rest and self._port is not None:
            self._port.put_back(Reply(rest, UNHARMED))

    def _expect_more(self) -> None:
        self._silent_at_s = self._loop.time() + self._extent.timeout_s

    def _wait(self) -> None:
        due_s = self._port.due_s() if self._port is not None else None
        until_s = self._silent_at_s if due_s is None else min(due_s, self._silent_at_s)
        self._alarm = self._loop.call_at(until_s, self._wake)
