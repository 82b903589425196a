"""A capacitor: charging under compliance, holding, decaying; the closed form and its limits."""

from __future__ import annotations

import copy
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sim_instruments.model.drive import (
    CurrentSink,
    CurrentSource,
    Drive,
    Fall,
    Open,
    OperatingPoint,
    VoltageSource,
)
from sim_instruments.model.loads import Capacitor


def capacitor(voltage_v: float = 0.0, resistance_ohm: float = 1e4) -> Capacitor:
    return Capacitor(1e-3, resistance_ohm, voltage_v)


def after(load: Capacitor, drive: Drive, elapsed_s: float) -> OperatingPoint:
    load.advance(drive, elapsed_s)
    return load.point(drive)


def test_it_decays_by_e_in_one_time_constant() -> None:
    assert after(capacitor(5), Open(), 10).voltage_v == pytest.approx(5 / math.e)


def test_without_a_resistor_it_keeps_its_charge() -> None:
    assert after(capacitor(5, math.inf), Open(), 1e6) == OperatingPoint(5, 0)


def test_it_charges_at_the_sources_limit_and_then_holds() -> None:
    load, drive = capacitor(0, math.inf), VoltageSource(5, 0.1)
    assert load.point(drive) == OperatingPoint(0, 0.1, limited=True)
    assert after(load, drive, 0.02) == OperatingPoint(2, 0.1, limited=True)
    assert after(load, drive, 0.04) == OperatingPoint(5, 0)


def test_it_discharges_at_the_sources_limit_to_a_lower_level() -> None:
    load, drive = capacitor(5, math.inf), VoltageSource(2, 0.1)
    assert after(load, drive, 0.01) == OperatingPoint(4, -0.1, limited=True)
    assert after(load, drive, 0.1) == OperatingPoint(2, 0)


def test_held_it_takes_what_its_resistor_takes() -> None:
    assert after(capacitor(), VoltageSource(5, 0.1), 1) == OperatingPoint(5, 5 / 1e4)


def test_a_limit_that_the_resistor_uses_up_leaves_it_below_the_level() -> None:
    load = capacitor(resistance_ohm=10)
    point = after(load, VoltageSource(5, 0.1), 10)
    assert point == OperatingPoint(pytest.approx(1), 0.1, limited=True)


def test_a_current_source_charges_it_up_to_its_voltage_limit() -> None:
    load, drive = capacitor(0, math.inf), CurrentSource(-0.1, 3)
    assert after(load, drive, 0.01) == OperatingPoint(-1, -0.1)
    assert after(load, drive, 1) == OperatingPoint(-3, 0, limited=True)


@pytest.mark.parametrize("drive_level_a", [0.1, -0.1])
def test_above_its_voltage_limit_a_current_source_pulls_it_down(drive_level_a: float) -> None:
    load, drive = capacitor(5, math.inf), CurrentSource(drive_level_a, 3)
    assert after(load, drive, 0.01) == OperatingPoint(4, -0.1, limited=drive_level_a > 0)
    held_or_driven_on_v = 3 if drive_level_a > 0 else 2
    assert after(load, drive, 0.02).voltage_v == pytest.approx(held_or_driven_on_v)


def test_a_level_that_it_comes_down_to_and_the_source_cannot_hold_is_passed() -> None:
    load = capacitor(5, resistance_ohm=10)
    assert after(load, VoltageSource(4, 0.1), 1).voltage_v == pytest.approx(1)


def test_an_electronic_load_empties_it_down_to_zero() -> None:
    load, drive = capacitor(5, math.inf), CurrentSink(0.1)
    assert after(load, drive, 0.02) == OperatingPoint(3, 0.1)
    assert after(load, drive, 1) == OperatingPoint(0, 0, limited=True)


DRIVES = st.one_of(
    st.just(Open()),
    st.builds(VoltageSource, st.floats(-50, 50), st.floats(1e-3, 10)),
    st.builds(CurrentSource, st.floats(-1, 1), st.floats(0.1, 50)),
    st.builds(CurrentSink, st.floats(0, 1)),
)
CAPACITORS = st.builds(
    Capacitor, st.floats(1e-6, 1e-1), st.one_of(st.just(math.inf), st.floats(1, 1e6)), st.just(0.0)
)


@settings(max_examples=300, deadline=None)
@given(
    load=CAPACITORS,
    before=st.lists(st.tuples(DRIVES, st.floats(0, 10)), max_size=3),
    drive=DRIVES,
    first_s=st.floats(0, 10),
    rest_s=st.floats(0, 10),
)
@example(
    load=Capacitor(0.0625, 2.0),
    before=[(VoltageSource(2, 1), 1)],
    drive=CurrentSource(0.25, 1),
    first_s=0,
    rest_s=1,
)
@example(
    load=Capacitor(0.0625, math.inf),
    before=[],
    drive=VoltageSource(5e-324, 1),
    first_s=1,
    rest_s=1,
)
def test_looking_at_it_in_between_changes_nothing(
    load: Capacitor,
    before: list[tuple[Drive, float]],
    drive: Drive,
    first_s: float,
    rest_s: float,
) -> None:
    for earlier, elapsed_s in before:
        load.advance(earlier, elapsed_s)
    watched = copy.copy(load)
    load.advance(drive, first_s + rest_s)
    watched.advance(drive, first_s)
    watched.point(drive)
    watched.advance(drive, rest_s)
    assert watched.voltage_v == pytest.approx(load.voltage_v, rel=1e-6, abs=1e-6)


@settings(deadline=None)
@given(load=CAPACITORS, drive=DRIVES, elapsed_s=st.floats(1e-3, 1))
def test_the_closed_form_is_what_small_steps_add_up_to(
    load: Capacitor, drive: Drive, elapsed_s: float
) -> None:
    load.capacitance_f = max(load.capacitance_f, 1e-3)
    load.resistance_ohm = max(load.resistance_ohm, 1e3)
    voltage_v, step_s = load.voltage_v, elapsed_s / 2000
    for _ in range(2000):
        flowing = Capacitor(load.capacitance_f, load.resistance_ohm, voltage_v).point(drive)
        inward_a = -flowing.current_a if isinstance(drive, CurrentSink) else flowing.current_a
        voltage_v += (inward_a - voltage_v / load.resistance_ohm) / load.capacitance_f * step_s
    load.advance(drive, elapsed_s)
    most_a = 10 if isinstance(drive, VoltageSource) else 1
    assert voltage_v == pytest.approx(load.voltage_v, abs=2 * most_a / load.capacitance_f * step_s)


class TestUnderASourcesFall:
    """5 V to 0 V in 1 s takes 5 mA out of 1 mF."""

    def test_it_follows_a_source_that_can_take_its_charge(self) -> None:
        point = capacitor(5, math.inf).fall(Fall(5, 1, limit_a=0.01), 0.4)
        assert point == OperatingPoint(pytest.approx(3), pytest.approx(-0.005))

    def test_it_stays_behind_one_that_cannot(self) -> None:
        load, fall = capacitor(5, math.inf), Fall(5, 1, limit_a=0.002)
        assert load.fall(fall, 1) == OperatingPoint(pytest.approx(3), -0.002, limited=True)

    def test_its_resistor_helps_as_long_as_the_voltage_is_high(self) -> None:
        # 5 V across 1 kOhm are the 5 mA; without any help from the source it stays behind at once.
        load = capacitor(-5, 1000)
        point = load.fall(Fall(-5, 1, limit_a=0), 1)
        assert point.voltage_v == pytest.approx(-5 / math.e)

    def test_it_is_empty_at_the_end_if_the_source_was_strong(self) -> None:
        assert capacitor(5).fall(Fall(5, 1, limit_a=1), 1).voltage_v == 0
