"""Throwing away the replies that are owed."""

import asyncio
from collections.abc import Awaitable, Callable


async def drain(read: Callable[[], Awaitable[bytes]], *, owed: int, budget_s: float) -> int:
    """Read up to ``owed`` replies and forget them; return how many came.

    Args:
        read: Reads one reply; it is cancelled when the budget runs out.
        owed: How many replies were asked for and never read.
        budget_s: Seconds to wait for all of them. What hasn't come by then is taken for
            never sent: an instrument that didn't understand a query doesn't answer it.
    """
    discarded = 0
    try:
        async with asyncio.timeout(budget_s) as budget:
            while discarded < owed:
                await read()
                discarded += 1
    except TimeoutError:
        if not budget.expired():
            raise
    return discarded
