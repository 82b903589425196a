"""Where the replies of a stream wait for whoever looks at them."""

import threading
from collections import deque

from pytest_safetyq.bench.wire.messages import StreamReply


class Mailbox:
    """Hands replies on, in order; when ``size`` of them wait, the oldest makes way.

    Whoever is slow gets the newest readings: a decision must not be made late on one that is
    old. How a stream has failed is never left out.

    Args:
        size: How many replies may wait.

    Attributes:
        skipped: How many replies have made way.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._replies: deque[StreamReply] = deque()
        self._closed = False
        self._changed = threading.Condition()
        self.skipped = 0

    def put(self, reply: StreamReply) -> None:
        """Add a reply; one with an error is the last."""
        with self._changed:
            if self._closed:
                return
            self._closed = reply.error is not None
            if not self._closed and len(self._replies) == self._size:
                self._replies.popleft()
                self.skipped += 1
            self._replies.append(reply)
            self._changed.notify()

    def close(self) -> None:
        """Take no more; what is there is handed on."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def get(self) -> StreamReply | None:
        """Wait for the next reply and return it; None: there will be no more."""
        with self._changed:
            while not self._replies:
                if self._closed:
                    return None
                self._changed.wait()
            return self._replies.popleft()
