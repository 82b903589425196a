"""A bench with two instruments: one fails, both go off."""

from collections.abc import Mapping

import pytest

from pytest_safetyq import EStopLatched, Instrument
from pytest_safetyq.bench import Safety


@pytest.fixture
def pair(instruments: Mapping[str, Instrument]) -> tuple[Instrument, Instrument]:
    """A supply and an electronic load, where the bench has them."""
    if "supply" not in instruments or "load" not in instruments:
        pytest.skip("this bench has no supply and load")
    return instruments["supply"], instruments["load"]


def test_load_and_supply_go_off_together(
    pair: tuple[Instrument, Instrument], safety: Safety
) -> None:
    supply, load = pair
    supply.write("INST:SEL CH1")
    supply.write("VOLT 5")
    supply.write("OUTP ON")
    load.write("CURR 0.2")
    load.write("INP ON")
    assert load.query("INP?") == "1"

    report = load.estop("the load is too hot")

    assert report.confirmed
    with pytest.raises(EStopLatched):
        supply.write("OUTP ON")  # the instruments of a bench trip together

    safety.rearm("cooled down")
    assert supply.query("OUTP?") == "0"
    assert load.query("INP?") == "0"
