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
        finished: called once, when it is over.
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
        self._go_on()

    def stop(self) -> None:
        """End it without calling anybody."""
        self.is_over = True
        if self._alarm is not None:
            self._alarm.cancel()

    def _go_on(self) -> None:
        self._alarm = None
        while not self.is_over:
            reply = self._port.take() if self._port is not None else None
            if reply is None:
                break
            self._take(reply)
        if not self.is_over:
            self._wait()

    def _take(self, reply: Reply) -> None:
        data = reply.payload
        until = self._extent.until
        if isinstance(until, int) and (end := data.find(until) + 1):
            self._put_back(data[end:])
            mark = self._extent.end_mark if end == len(data) else b""
            self._deliver(data[:end] + mark, reply.effect)
            self._finish()
            return
        self._deliver(data + self._extent.end_mark, reply.effect)
        self._expect_more()
        if self._extent.until == "eoi":
            self._finish()

    def _put_back(self, rest: bytes) -> None:
        if rest and self._port is not None:
            self._port.put_back(Reply(rest, UNHARMED))

    def _expect_more(self) -> None:
        self._silent_at_s = self._loop.time() + self._extent.timeout_s

    def _wait(self) -> None:
        due_s = self._port.due_s() if self._port is not None else None
        if due_s is not None and due_s <= self._silent_at_s:
            self._alarm = self._loop.call_at(due_s, self._go_on)
        else:
            self._alarm = self._loop.call_at(self._silent_at_s, self._finish)

    def _finish(self) -> None:
        self._alarm = None
        self.is_over = True
        self._finished()
