"""The future of one request, and until when it must come."""

import concurrent.futures
import math
import threading
import time
from typing import Any

ANSWER_TIMEOUT_S = 5.0
"""Seconds in which a supervisor that lives says something to anything, also on a busy machine."""

CHECK_AFTER_S = 10.0
"""Seconds after which a supervisor is asked whether it lives, where nobody can say how long."""


class Answer(concurrent.futures.Future[Any]):
    """The future of one request. It ends once, whoever ends it first, in any thread.

    Args:
        what: What was asked for, for messages.

    Attributes:
        what: The same.
        admitted: Done when the supervisor has accepted the request (commands and jobs); it
            fails with what the request fails with.
        asked_s: When it was asked for, monotonic.
        due_s: Until when something must have come, monotonic.
        waits_for_others: Whether nobody can say when it comes, as others are before it: when
            it is due, it is only asked whether the supervisor still answers.
        promise_s: In how many seconds the supervisor has said that it answers; 0: it hasn't.
    """

    def __init__(self, what: str = "a request") -> None:
        super().__init__()
        self._ending = threading.Lock()
        self._ended = False
        self.what = what
        self.admitted: concurrent.futures.Future[None] = concurrent.futures.Future()
        self.asked_s = time.monotonic()
        self.due_s = self.asked_s + ANSWER_TIMEOUT_S
        self.waits_for_others = False
        self.promise_s = 0.0

    def promised(self, within_s: float | None) -> None:
        """Note that the supervisor has said in how many seconds it answers; None: it can't say."""
        self.promise_s = within_s or 0.0
        self.waits_for_others = within_s is None
        self.due_s = time.monotonic() + (
            CHECK_AFTER_S if within_s is None else within_s + ANSWER_TIMEOUT_S
        )

    def queued(self, service_s: float) -> None:
        """Note that it comes ``service_s`` seconds, at the worst, after those before it."""
        self.waits_for_others = True
        self.due_s = time.monotonic() + min(service_s, CHECK_AFTER_S)

    def in_doubt(self) -> None:
        """Note that it is being asked whether the supervisor still answers."""
        self.due_s = math.inf

    def admit(self) -> None:
        """Note that the supervisor has accepted the request."""
        if not self.admitted.done() and self.admitted.set_running_or_notify_cancel():
            self.admitted.set_result(None)

    def cancel(self) -> bool:
        """End cancelled; whoever waits for it is woken."""
        if not self._first():
            return self.cancelled()
        super().cancel()
        self.set_running_or_notify_cancel()
        if self.admitted.cancel():
            self.admitted.set_running_or_notify_cancel()
        return True

    def fail(self, error: Exception) -> None:
        """End in ``error``."""
        if self._first():
            if not self.admitted.done() and self.admitted.set_running_or_notify_cancel():
                self.admitted.set_exception(error)
            self.set_exception(error)

    def succeed(self, value: Any) -> None:
        """End with ``value``."""
        if self._first():
            self.admit()
            self.set_result(value)

    def _first(self) -> bool:
        with self._ending:
            first, self._ended = not self._ended, True
        return first
