"""Knowing which reply belongs to which query, by a question whose answer never changes."""

import time
from collections import deque
from collections.abc import Awaitable, Callable

QUIET_S = 0.25
"""Seconds of silence after an identity that make it the last one."""

REMEMBERED_MESSAGES = 64
"""How many messages without a reply are remembered, to know whether identities are owed."""


class IdentityCheck:
    """Finds the end of stale replies: the answer to the identity query is behind them all.

    An instrument answers in order.

    Args:
        query: The identity query; None: the instrument has none.

    Attributes:
        identity: Its answer; None before it is known.
    """

    def __init__(self, query: bytes | None) -> None:
        self.query = query
        self.identity: bytes | None = None
        self._unanswered: deque[bytes] = deque(maxlen=REMEMBERED_MESSAGES)

    def sent(self, message: bytes) -> None:
        """Remember a message whose reply may still come."""
        self._unanswered.append(bytes(message))

    def answered(self) -> None:
        """Forget what was sent: nothing is owed any more."""
        self._unanswered.clear()

    async def learn(
        self,
        write: Callable[[bytes], Awaitable[None]],
        read: Callable[[float], Awaitable[bytes]],
        until_s: float,
    ) -> None:
        """Ask for the identity until the same answer comes twice in a row.

        What a process that was killed had asked for may still come, and is no identity.

        Args:
            write: Sends a message.
            read: Reads one reply until a monotonic time.
            until_s: Monotonic time until which it must be known.

        Raises:
            TimeoutError: It is not known by then.
        """
        assert self.query is not None
        await write(self.query)
        before = await read(until_s)
        await write(self.query)
        while (reply := await read(until_s)) != before:
            before = reply
        self.identity = reply

    async def read_up_to(
        self,
        write: Callable[[bytes], Awaitable[None]],
        read: Callable[[float], Awaitable[bytes]],
        until_s: float,
        discard: Callable[[], None],
    ) -> None:
        """Ask for the identity and discard what comes before it.

        Where identities are among what is owed, the one that is asked for here is the last of
        them; fewer may come, and then silence tells.

        Args:
            write: Sends a message.
            read: Reads one reply until a monotonic time.
            until_s: Monotonic time until which the identity must have come.
            discard: Called for each reply that is thrown away.

        Raises:
            TimeoutError: It has not come.
        """
        assert self.query is not None
        stale = sum(_same_query(one, self.query) for one in self._unanswered)
        await write(self.query)
        reply: bytes | None = None
        identities = 0
        while not (reply == self.identity and identities > stale):
            may_be_last = reply == self.identity
            until = min(until_s, time.monotonic() + QUIET_S) if may_be_last else until_s
            try:
                following = await read(until)
            except TimeoutError:
                if may_be_last:
                    break
                raise
            if reply is not None:
                discard()  # only what follows it shows that it was not the last
            reply = following
            identities += reply == self.identity
        self.answered()


def _same_query(message: bytes, query: bytes) -> bool:
    return message.strip().upper() == query.strip().upper()
