"""Instruments of the bundled bench, one at a time."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from sim_model_rig import Bench, Build, Clock

from sim_instruments import BENCH_YAML
from sim_instruments.model.description import describe
from sim_instruments.model.instrument import Instrument


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def build(clock: Clock) -> Build:
    """Build a device of the bundled bench with other traits, and another circuit on channel 1."""

    def make(
        device: str = "smu", *, circuit: dict[str, Any] | None = None, **traits: object
    ) -> Bench:
        data = yaml.load(BENCH_YAML.read_text(), Loader=yaml.BaseLoader)["devices"][device]
        data["traits"] = traits
        if circuit is not None:
            data["circuits"]["1"] = circuit
        return Bench(Instrument(describe(data), clock=clock), clock)

    return make
