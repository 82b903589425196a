"""Resistor, battery and diode: where the source's characteristic meets the load's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_instruments.model.drive import (
    CurrentSink,
    CurrentSource,
    Drive,
    Open,
    OperatingPoint,
    VoltageSource,
)
from sim_instruments.model.loads import Diode, Resistor
from sim_instruments.model.loads.load import MemorylessLoad

RESISTOR = Resistor(100)
NOTHING = Resistor(math.inf)
BATTERY = Resistor(2, emf_v=12)
DIODE = Diode(forward_v=0.6, forward_a=0.01, ideality=1)


@pytest.mark.parametrize(
    ("load", "drive", "point"),
    [
        (RESISTOR, VoltageSource(2, 1), OperatingPoint(2, 0.02)),
        (RESISTOR, VoltageSource(2, 0.01), OperatingPoint(1, 0.01, limited=True)),
        (RESISTOR, VoltageSource(-2, 0.01), OperatingPoint(-1, -0.01, limited=True)),
        (RESISTOR, CurrentSource(0.02, 10), OperatingPoint(2, 0.02)),
        (RESISTOR, CurrentSource(0.02, 1), OperatingPoint(1, 0.01, limited=True)),
        (RESISTOR, Open(), OperatingPoint(0, 0)),
        (NOTHING, VoltageSource(5, 1), OperatingPoint(5, 0)),
        (NOTHING, CurrentSource(0, 10), OperatingPoint(0, 0)),
        (NOTHING, CurrentSource(-0.1, 10), OperatingPoint(-10, 0, limited=True)),
        (NOTHING, CurrentSink(1), OperatingPoint(0, 0, limited=True)),
        (BATTERY, VoltageSource(13, 1), OperatingPoint(13, 0.5)),
        (BATTERY, VoltageSource(0, 100), OperatingPoint(0, -6)),
        (BATTERY, VoltageSource(0, 1), OperatingPoint(10, -1, limited=True)),
        (BATTERY, Open(), OperatingPoint(12, 0)),
        (BATTERY, CurrentSink(1), OperatingPoint(10, 1)),
        (BATTERY, CurrentSink(100), OperatingPoint(0, 6, limited=True)),
    ],
)
def test_ohms_law_and_a_limit_give_the_operating_point(
    load: Resistor, drive: Drive, point: OperatingPoint
) -> None:
    assert load.point(drive) == point


def test_a_diode_has_its_forward_voltage_at_its_forward_current() -> None:
    assert DIODE.point(CurrentSource(0.01, 10)).voltage_v == pytest.approx(0.6)
    assert DIODE.point(VoltageSource(0.6, 1)).current_a == pytest.approx(0.01)


def test_a_decade_of_current_costs_a_diode_60_millivolt() -> None:
    assert DIODE.voltage_v(0.1) - DIODE.voltage_v(0.01) == pytest.approx(0.0595, abs=1e-4)


def test_a_diode_blocks_the_other_way() -> None:
    assert -1e-9 < DIODE.point(VoltageSource(-100, 1)).current_a < 0
    blocked = DIODE.point(CurrentSource(-0.1, 20))
    assert (blocked.voltage_v, blocked.limited) == (-20, True)
    assert -1e-9 < blocked.current_a < 0


def test_a_diode_on_a_stiff_source_takes_all_the_current_there_is() -> None:
    point = DIODE.point(VoltageSource(200, 0.105))
    assert (point.current_a, point.limited) == (0.105, True)
    assert point.voltage_v == pytest.approx(0.6 + 0.025852 * math.log(10.5))


def test_a_diode_is_dark_when_nothing_drives_it() -> None:
    assert DIODE.point(Open()) == OperatingPoint(0, 0)


LOADS = st.one_of(
    st.builds(Resistor, st.floats(1e-3, 1e6), st.floats(-50, 50)),
    st.builds(Diode, st.floats(0.1, 40), st.floats(1e-6, 10), st.floats(1, 2)),
)
LEVEL, LIMIT = st.floats(-200, 200), st.floats(1e-6, 100)


@settings(deadline=None)
@given(load=LOADS, level_v=LEVEL, limit_a=LIMIT)
def test_a_voltage_source_keeps_either_its_level_or_its_limit(
    load: MemorylessLoad, level_v: float, limit_a: float
) -> None:
    point = load.point(VoltageSource(level_v, limit_a))
    if point.limited:
        assert abs(point.current_a) == limit_a
        assert abs(load.current_a(level_v)) > limit_a
    else:
        assert point.voltage_v == level_v
        assert abs(point.current_a) <= limit_a


@settings(deadline=None)
@given(load=LOADS, level_a=st.floats(-10, 10), limit_v=LIMIT)
def test_a_current_source_keeps_either_its_level_or_its_limit(
    load: MemorylessLoad, level_a: float, limit_v: float
) -> None:
    point = load.point(CurrentSource(level_a, limit_v))
    if point.limited:
        assert abs(point.voltage_v) == limit_v
    else:
        assert point.current_a == level_a
        assert abs(point.voltage_v) <= limit_v
