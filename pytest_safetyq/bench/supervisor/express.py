"""The express session: a second one, for the off sequence alone.

An instrument that takes two clients executes what comes by the second while the first waits for
the reply to a slow query. So an E-stop needn't wait for the rest of that.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from pytest_safetyq.dispatcher import SafetyAwareDispatcher
from pytest_safetyq.errors import SafetyError
from pytest_safetyq.links import InstrumentLink
from pytest_safetyq.scheduling import TransactionRecord

log = logging.getLogger("pytest_safetyq.bench")


@dataclass(frozen=True, slots=True)
class Express:
    """A second open session to an instrument.

    Attributes:
        link: Its link.
        dispatcher: The dispatcher of that.
    """

    link: InstrumentLink
    dispatcher: SafetyAwareDispatcher

    @classmethod
    async def open(
        cls, link: InstrumentLink, *, name: str, gap_s: float, timeout_s: float
    ) -> Self | None:
        """Open it; None where the instrument doesn't take a second client after all.

        Args:
            link: The link, not open yet.
            name: The instrument's name.
            gap_s: Least time between two commands.
            timeout_s: Seconds that it may take.
        """
        try:
            await link.open(timeout_s)
        except SafetyError as error:
            log.warning("%s: there is no express session: %s", name, error)
            return None
        dispatcher = SafetyAwareDispatcher.on(link, inter_command_delay=gap_s, name=name, history=0)
        await dispatcher.start()
        return cls(link, dispatcher)

    def subscribe(self, recorded: Callable[[TransactionRecord], None]) -> None:
        """Have ``recorded`` called with every record."""
        self.dispatcher.subscribe(recorded)

    async def close(self) -> None:
        """Stop the dispatcher and close the link."""
        await self.dispatcher.stop()
        await self.link.close()
