"""An I/V sweep: the SMU sources a voltage and measures the current through a resistor."""

import pytest

from pytest_safetyq import Instrument

RESISTANCE_OHM = 100.0


@pytest.fixture
def smu(instrument: Instrument) -> Instrument:
    """The selected instrument, as a voltage source with a current limit, and switched on."""
    instrument.write(":SOUR:FUNC VOLT")
    instrument.write(":SENS:CURR:PROT 0.1")
    instrument.write(":OUTP ON")
    return instrument


def test_resistor_follows_ohms_law(smu: Instrument) -> None:
    for voltage_v in (-2.0, -1.0, 0.0, 1.0, 2.0):
        smu.write(f":SOUR:VOLT {voltage_v}")
        current_a = float(smu.query(":MEAS:CURR?"))
        assert current_a == pytest.approx(voltage_v / RESISTANCE_OHM, abs=1e-6)


def test_current_limit_holds(smu: Instrument) -> None:
    smu.write(":SOUR:VOLT 20")
    assert float(smu.query(":MEAS:CURR?")) == pytest.approx(0.1, abs=1e-6)


def test_output_was_off_before_this_test_began(instrument: Instrument) -> None:
    # The tests above left the output on. The safe state was sent and read back at their end.
    assert instrument.query(":OUTP?") == "0"
