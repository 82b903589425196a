from __future__ import annotations

import math

from sim_instruments.model.circuit import (
    Circuit,
    OperatingPoint,
    force_current,
    force_voltage,
    idle,
    sink_current,
)

RESISTOR = Circuit(resistance_ohm=100)
NOTHING = Circuit()
BATTERY = Circuit(resistance_ohm=2, emf_v=12)


def test_a_voltage_source_follows_ohms_law() -> None:
    assert force_voltage(RESISTOR, 2, 1) == OperatingPoint(2, 0.02)


def test_a_voltage_source_stops_at_its_current_limit_in_either_direction() -> None:
    assert force_voltage(RESISTOR, 2, 0.01) == OperatingPoint(1, 0.01, limited=True)
    assert force_voltage(RESISTOR, -2, 0.01) == OperatingPoint(-1, -0.01, limited=True)


def test_a_current_source_stops_at_its_voltage_limit() -> None:
    assert force_current(RESISTOR, 0.02, 10) == OperatingPoint(2, 0.02)
    assert force_current(RESISTOR, 0.02, 1) == OperatingPoint(1, 0.01, limited=True)


def test_an_open_circuit_takes_no_current() -> None:
    assert force_voltage(NOTHING, 5, 1) == OperatingPoint(5, 0)
    assert force_current(NOTHING, 0, 10) == OperatingPoint(0, 0)
    assert force_current(NOTHING, -0.1, 10) == OperatingPoint(-10, -0.0, limited=True)


def test_a_source_at_0_volt_discharges_a_battery() -> None:
    assert force_voltage(BATTERY, 0, math.inf) == OperatingPoint(0, -6)


def test_idle_terminals_show_the_circuits_own_voltage() -> None:
    assert idle(BATTERY) == OperatingPoint(12, 0)
    assert idle(RESISTOR) == OperatingPoint(0, 0)


def test_a_sink_takes_what_it_is_set_to_or_what_there_is() -> None:
    assert sink_current(BATTERY, 1) == OperatingPoint(10, 1)
    assert sink_current(BATTERY, 100) == OperatingPoint(0, 6, limited=True)
    assert sink_current(NOTHING, 1) == OperatingPoint(0, 0, limited=True)
