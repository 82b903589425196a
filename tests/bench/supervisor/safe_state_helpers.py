"""What the tests of the safe state share."""

from collections.abc import Callable
from typing import Any

from supervisor_helpers import now

from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.safe_state import SafeState
from pytest_safetyq.links import ScriptedLink
from pytest_safetyq.scheduling import LatchState


class Stations(ScriptedLink):
    """A scripted link that writes down in ``stations`` what it is told, in order."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.stations: list[str] = []

    async def write(self, payload: bytes, /) -> None:
        self.stations.append(payload.decode())
        await super().write(payload)

    async def resynchronise(self, *, owed: int, lost: bool, discard: Callable[[], None]) -> None:
        self.stations.append("reopen" if lost else "resync")
        await super().resynchronise(owed=owed, lost=lost, discard=discard)


async def enter(instrument: OwnedInstrument, reason: str = "test") -> EStopReport:
    return await SafeState(instrument).enter(reason, now())


def latch_of(instrument: OwnedInstrument) -> LatchState:
    return instrument.dispatcher.latch.state
