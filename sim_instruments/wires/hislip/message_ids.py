"""The message IDs of a session (IVI-6.1, 3.1.2 and 3.2.1)."""

from __future__ import annotations

from collections.abc import Callable

FIRST_ID = 0xFFFF_FF00
STEP = 2

_MASK = 0xFFFF_FFFF
_MOST_MESSAGES_AHEAD = 64


class MessageIds:
    """Which message was executed last, and what waits for one that is still on its way.

    The two channels are two connections: a request on one may overtake a message on the other.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Callable[[], object]]] = []
        self.restart()

    def restart(self) -> None:
        """Begin anew, as after a device clear; whatever waited has nothing to wait for now."""
        self.last = (FIRST_ID - STEP) & _MASK
        self._reply = FIRST_ID
        waiting, self._waiting = self._waiting, []
        for _message_id, action in waiting:
            action()

    def next_reply(self) -> int:
        """Give the ID of the next message to the client in overlapped mode."""
        message_id, self._reply = self._reply, (self._reply + STEP) & _MASK
        return message_id

    def executed(self, message_id: int) -> None:
        """Note that a message was executed, and do what waited for it."""
        self.last = message_id
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for awaited_id, action in waiting:
                self.after(awaited_id, action)

    def after(self, message_id: int, action: Callable[[], object]) -> None:
        """Do something once a message is executed, at once if it is, or was never sent.

        An ID that is far ahead cannot be that of a message on its way.
        """
        ahead = (message_id - self.last) & _MASK
        if 0 < ahead <= _MOST_MESSAGES_AHEAD * STEP:
            self._waiting.append((message_id, action))
        else:
            action()
