"""A link made of two of the user's own callables."""

from collections.abc import Awaitable, Callable

from pytest_safetyq.links.draining import drain

DRAIN_S = 0.5


class CallbackLink:
    """Drives an instrument through ``read_callback`` and ``write_callback``.

    Two callables can't be told to clear or reopen anything, and nothing is known that the
    instrument would answer for certain. What they allow is to wait for the replies that are
    owed, and to throw them away. A reply that is later than ``resync_budget_s`` can't be
    told from a fresh one; a `Link` of one's own can do better.

    Args:
        read_callback: Returns the reply to the last message.
        write_callback: Sends one message.
    """

    def __init__(
        self,
        read_callback: Callable[[], Awaitable[bytes]],
        write_callback: Callable[[bytes], Awaitable[None]],
    ) -> None:
        self._read = read_callback
        self._write = write_callback
        self.resync_budget_s = DRAIN_S

    async def write(self, payload: bytes, /) -> None:
        """Send one message."""
        await self._write(payload)

    async def read(self) -> bytes:
        """Return the reply to the last message."""
        return await self._read()

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        """Throw away the replies that are still owed, as far as they come in time."""
        del lost  # there is nothing to reopen
        await drain(self._read, owed=owed, budget_s=self.resync_budget_s, discard=discard)

    async def close(self) -> None:
        """Do nothing: whoever made the callables closes what is behind them."""
