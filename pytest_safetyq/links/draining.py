"""Throwing away the replies that are owed."""

import asyncio
from collections.abc import Awaitable, Callable

PAUSE_S = 0.01
"""Seconds until a read that came back with an error is tried again."""


async def drain(
    read: Callable[[], Awaitable[bytes]],
    *,
    owed: int,
    budget_s: float,
    discard: Callable[[], None],
) -> None:
    """Read up to ``owed`` replies and forget them.

    A read that raises has brought no reply: drivers with a timeout of their own do that
    when nothing comes. It is tried again until the budget ends.

    Args:
        read: Reads one reply; it is cancelled when the budget runs out.
        owed: How many replies were asked for and never read.
        budget_s: Seconds to wait for all of them. What hasn't come by then is taken for
            never sent: an instrument that didn't understand a query doesn't answer it.
        discard: Called for each reply that is thrown away.

    Raises:
        ConnectionError: The path is gone.
    """
    missing = owed
    try:
        async with asyncio.timeout(budget_s) as budget:
            while missing > 0:
                try:
                    await read()
                except ConnectionError:
                    raise
                except Exception:  # noqa: BLE001 - a driver's own way to say: nothing came
                    await asyncio.sleep(PAUSE_S)
                else:
                    missing -= 1
                    discard()
    except TimeoutError:
        if not budget.expired():
            raise
