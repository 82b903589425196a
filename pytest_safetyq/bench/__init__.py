"""The bench: the supervisor process that owns the links, and the handles that tests hold."""

from pytest_safetyq.bench.client.async_instrument import AsyncInstrument
from pytest_safetyq.bench.client.bench import Bench
from pytest_safetyq.bench.client.dispatcher import RemoteDispatcher
from pytest_safetyq.bench.client.instrument import Instrument
from pytest_safetyq.bench.client.safety import Safety
from pytest_safetyq.bench.reports import Distribution, EStopReport, EStopStep, LatencyStats

__all__ = [
    "AsyncInstrument",
    "Bench",
    "Distribution",
    "EStopReport",
    "EStopStep",
    "Instrument",
    "LatencyStats",
    "RemoteDispatcher",
    "Safety",
]
