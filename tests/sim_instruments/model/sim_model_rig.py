"""An instrument on a clock that stands until a test moves it."""

from __future__ import annotations

from collections.abc import Callable

from sim_instruments.model.instrument import Instrument


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def passes(self, seconds: float) -> None:
        self.now_s += seconds


class Bench:
    """An instrument and its clock: ask it, let the time pass, ask again."""

    def __init__(self, instrument: Instrument, clock: Clock) -> None:
        self.instrument = instrument
        self.clock = clock

    def ask(self, message: str) -> str | None:
        return self.instrument.execute(message.encode()).reply

    def numbers(self, message: str) -> list[float]:
        return [float(number) for number in (self.ask(message) or "").replace(";", ",").split(",")]

    def after(self, seconds: float, message: str) -> list[float]:
        self.clock.passes(seconds)
        return self.numbers(message)


Build = Callable[..., Bench]
