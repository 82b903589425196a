"""`Safety`: the bench as a whole, as a test holds it."""

from pytest_safetyq.bench.client.bench import Bench
from pytest_safetyq.bench.reports import EStopReport, LatencyStats
from pytest_safetyq.scheduling import TransactionRecord

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here


class Safety:
    """The E-stop of the bench, its latch, and the evidence.

    Args:
        bench: The bench.
        selected: Name of the selected instrument.
    """

    def __init__(self, bench: Bench, selected: str) -> None:
        self._bench = bench
        self._selected = selected

    def estop(self, reason: str = "") -> EStopReport:
        """Drive every open instrument to its safe state, and latch the bench.

        Returns:
            The report of the bench; ``by_instrument`` has that of each instrument. It
            doesn't raise if "off" could not be read back: look at ``confirmed``.
        """
        return self._bench.estop(reason or "estop() was called")

    @property
    def latched(self) -> bool:
        """Whether any open instrument is tripped and not rearmed."""
        return self._bench.latched

    def rearm(self, reason: str) -> None:
        """Release the latch; nothing is switched on by it.

        Raises:
            SafeStateUnconfirmed: "off" was not read back since the trip.
        """
        self._bench.rearm(reason)

    @property
    def records(self) -> list[TransactionRecord]:
        """The records of the current test, of all instruments, in the order of submission."""
        return self._bench.records

    def probe(
        self,
        instrument: str | None = None,
        *,
        samples: int = 100,
        backlog: int = 200,
        command: str | None = None,
    ) -> LatencyStats:
        """Fire safety commands under a saturated POLL backlog and measure each stage.

        Args:
            instrument: Its name; None: the selected one.
            samples: How many safety commands are sent.
            backlog: How many POLL commands wait when each is submitted.
            command: The safety command; None: the first of the profile's off sequence.

        Raises:
            ValueError: A number is out of range, or there is nothing to switch off.
            SafeStateUnconfirmed: After a safety command "off" could not be read back.
        """
        return self._bench.probe(
            instrument or self._selected, samples=samples, backlog=backlog, command=command
        )
