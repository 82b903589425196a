"""An instrument's status: the error queue and the registers that summarise it."""

from __future__ import annotations

from collections import deque

from sim_instruments.model.scpi_errors import MESSAGES, NO_ERROR, QUEUE_OVERFLOW

QUEUE_LENGTH = 10

OPERATION_COMPLETE = 1 << 0
POWER_ON = 1 << 7
_EVENT_OF_ERROR_CLASS = {1: 1 << 5, 2: 1 << 4, 3: 1 << 3, 4: 1 << 2}

_ERROR_AVAILABLE = 1 << 2
_MESSAGE_AVAILABLE = 1 << 4
_EVENT_SUMMARY = 1 << 5
_MASTER_SUMMARY = 1 << 6


class Status:
    """Error queue (SCPI-99 volume 2, 21.8) and status registers (IEEE 488.2, 11)."""

    def __init__(self) -> None:
        self.event_enable = 0
        self.service_enable = 0
        self.reply_waiting = False
        self._events = POWER_ON
        self._errors: deque[int] = deque()

    def record(self, code: int) -> None:
        """Queue an error; when the queue is full its newest entry becomes -350."""
        self._events |= _EVENT_OF_ERROR_CLASS[-code // 100]
        if len(self._errors) < QUEUE_LENGTH:
            self._errors.append(code)
        else:
            self._errors[-1] = QUEUE_OVERFLOW

    def operation_complete(self) -> None:
        """Note that everything asked for is done (`*OPC`; IEEE 488.2, 10.18)."""
        self._events |= OPERATION_COMPLETE

    def next_error(self) -> str:
        """Take the oldest error, `0,"No error"` when there is none."""
        code = self._errors.popleft() if self._errors else NO_ERROR
        return f'{code},"{MESSAGES[code]}"'

    def take_events(self) -> int:
        """Read the standard event status register, which clears it (IEEE 488.2, 11.5.1)."""
        events, self._events = self._events, 0
        return events

    def status_byte(self) -> int:
        """The status byte with bit 6 as the master summary (IEEE 488.2, 11.2)."""
        byte = 0
        if self._errors:
            byte |= _ERROR_AVAILABLE
        if self.reply_waiting:
            byte |= _MESSAGE_AVAILABLE
        if self._events & self.event_enable:
            byte |= _EVENT_SUMMARY
        if byte & self.service_enable:
            byte |= _MASTER_SUMMARY
        return byte

    def clear(self) -> None:
        """Empty the error queue and the event register; the enable masks stay (`*CLS`)."""
        self._events = 0
        self._errors.clear()
