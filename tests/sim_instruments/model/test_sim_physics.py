"""A source, its settings and its load: what readings and terminals show, and when."""

from __future__ import annotations

import math

import pytest
from sim_model_rig import Bench, Build

from sim_instruments.model.drive import OperatingPoint

BATTERY = {"emf_v": "12", "resistance_ohm": "0.5"}
CAPACITOR = {"capacitance_f": "1E-3", "resistance_ohm": "1E4"}


def switched_on(bench: Bench, settings: str) -> Bench:
    bench.ask(f"{settings};:OUTP ON")
    return bench


def terminals(bench: Bench) -> OperatingPoint:
    return bench.instrument.terminals()["1"]


def test_a_capacitor_charges_under_compliance_and_holds(build: Build) -> None:
    supply = switched_on(build("supply", circuit=CAPACITOR), "VOLT 5;CURR 0.1")
    assert supply.numbers("MEAS:VOLT?;CURR?") == [0, 0.1]
    assert supply.after(0.02, "MEAS:VOLT?")[0] == pytest.approx(2, rel=2e-3)
    assert supply.after(1, "MEAS:VOLT?;CURR?") == [5, 5e-4]


def test_a_capacitor_keeps_a_dangerous_voltage_after_off(build: Build) -> None:
    supply = switched_on(build("supply", circuit=CAPACITOR), "VOLT 30;CURR 3")
    supply.clock.passes(1)
    supply.ask("OUTP OFF")
    assert supply.numbers("OUTP?;:MEAS:VOLT?;CURR?") == [0, 30, 0]
    assert supply.after(10, "MEAS:VOLT?")[0] == pytest.approx(30 / math.e)


def test_a_change_of_a_setting_counts_from_the_moment_it_is_made(build: Build) -> None:
    supply = switched_on(build("supply", circuit=CAPACITOR), "VOLT 30;CURR 0.1")
    supply.clock.passes(0.01)
    supply.ask("CURR 1")
    assert supply.after(0.01, "MEAS:VOLT?")[0] == pytest.approx(1 + 10, rel=2e-3)


def test_a_current_source_stops_at_its_voltage_limit_on_a_capacitor(build: Build) -> None:
    smu = switched_on(build(circuit=CAPACITOR), ":SOUR:FUNC CURR;CURR 0.1;:SENS:VOLT:PROT 5")
    assert smu.after(0.01, "READ?")[:2] == pytest.approx([1, 0.1], rel=1e-3)
    voltage_v, _current, _resistance, _time, status = smu.after(1, "READ?")
    assert (voltage_v, status) == (5, 8)


def test_an_smu_measures_the_curve_of_a_diode(build: Build) -> None:
    smu = switched_on(build(circuit={"forward_v": "0.6"}), ":SOUR:FUNC CURR")
    curve = [smu.numbers(f":SOUR:CURR {ma} mA;:MEAS:VOLT?")[0] for ma in (-1, 1, 10, 100)]
    assert curve == pytest.approx([-21, 0.5405, 0.6, 0.6595], abs=1e-3)


def test_a_battery_is_seen_although_the_output_is_off(build: Build) -> None:
    smu = build(circuit=BATTERY)
    assert smu.numbers("OUTP?;:MEAS:VOLT?;:MEAS:CURR?") == [0, 12, 0]


def test_a_source_charges_a_battery_at_its_limit(build: Build) -> None:
    supply = switched_on(build("supply", circuit=BATTERY), "VOLT 14;CURR 2")
    assert supply.numbers("MEAS:VOLT?;CURR?") == [13, 2]


def test_off_as_zero_volts_shorts_a_battery(build: Build) -> None:
    smu = build(circuit=BATTERY, off_state="zero_volts")
    smu.ask(":SENS:CURR:PROT MAX;:OUTP OFF")
    assert smu.numbers("OUTP?;:MEAS:CURR?") == [0, -1.05]
    assert smu.instrument.output() == {"1": False}
    assert terminals(smu) == OperatingPoint(pytest.approx(11.475), -1.05, limited=True)


def test_off_as_zero_volts_is_a_dead_short_below_its_limit(build: Build) -> None:
    bench = build("supply", circuit={"emf_v": "1", "resistance_ohm": "0.5"}, off_state="zero_volts")
    bench.ask("CURR MAX")
    assert terminals(bench) == OperatingPoint(0, -2)


def test_off_as_zero_volts_empties_a_capacitor(build: Build) -> None:
    smu = switched_on(build(circuit=CAPACITOR, off_state="zero_volts"), ":SOUR:VOLT 5")
    smu.clock.passes(1)
    smu.ask("OUTP OFF")
    assert smu.numbers("MEAS:VOLT?;:MEAS:CURR?") == [5, -0.105]
    assert smu.after(1, "MEAS:VOLT?;:MEAS:CURR?") == [0, 0]


def test_what_drives_nothing_has_no_off_state_and_no_fall(build: Build) -> None:
    load = build("load", off_state="zero_volts", fall_time_s="1")
    load.ask("CURR 10;:INP ON;:INP OFF")
    assert load.numbers("MEAS:VOLT?;CURR?") == [12, 0]
    assert build("dmm", off_state="zero_volts").numbers("READ?") == [1.25]


def test_channels_have_terminals_of_their_own(build: Build) -> None:
    supply = switched_on(build("supply"), "VOLT 1")
    points = supply.instrument.terminals()
    assert points["1"] == OperatingPoint(1, 0.1)
    assert points["2"] == OperatingPoint(3.7, 0)


class TestTheFallAfterOff:
    """`OUTP?` answers 0 at once, and the voltage takes its time."""

    @pytest.fixture
    def falling(self, build: Build) -> Bench:
        supply = build("supply", circuit={"resistance_ohm": "10"}, fall_time_s="0.2")
        switched_on(supply, "VOLT 8;CURR 1").ask("OUTP OFF")
        return supply

    def test_it_is_a_straight_line_to_zero(self, falling: Bench) -> None:
        assert falling.numbers("OUTP?;:MEAS:VOLT?;CURR?") == [0, 8, 0.8]
        assert falling.instrument.output() == {"1": False, "2": False}
        assert falling.after(0.05, "MEAS:VOLT?;CURR?") == pytest.approx([6, 0.6])
        assert falling.after(0.15, "MEAS:VOLT?;CURR?") == pytest.approx([0, 0])

    def test_it_begins_within_the_message(self, build: Build) -> None:
        supply = build("supply", circuit={"resistance_ohm": "10"}, fall_time_s="0.2")
        assert supply.numbers("VOLT 8;CURR 1;OUTP ON;OUTP OFF;:MEAS:VOLT?") == [8]

    def test_a_second_off_does_not_begin_it_again(self, falling: Bench) -> None:
        falling.clock.passes(0.1)
        falling.ask("OUTP OFF;*RST")
        assert falling.after(0.05, "MEAS:VOLT?") == pytest.approx([2])

    def test_on_ends_it(self, falling: Bench) -> None:
        falling.clock.passes(0.1)
        falling.ask("OUTP ON")
        assert falling.numbers("MEAS:VOLT?") == [8]
        falling.ask("VOLT 4;OUTP OFF")
        assert falling.after(0.1, "MEAS:VOLT?") == pytest.approx([2])

    def test_reset_lets_it_fall_from_where_it_was(self, build: Build) -> None:
        supply = build("supply", circuit={"resistance_ohm": "10"}, fall_time_s="0.2")
        switched_on(supply, "VOLT 8;CURR 1").ask("*RST")
        assert supply.after(0.1, "MEAS:VOLT?") == pytest.approx([4])

    def test_a_capacitor_too_big_for_the_limit_stays_charged(self, build: Build) -> None:
        supply = build("supply", circuit={"capacitance_f": "1"}, fall_time_s="1")
        switched_on(supply, "VOLT 1;CURR 0.5").clock.passes(2)
        supply.ask("OUTP OFF")
        assert supply.after(0.5, "MEAS:VOLT?;CURR?") == pytest.approx([0.75, -0.5])
        assert supply.after(0.5, "MEAS:VOLT?;CURR?") == pytest.approx([0.5, 0])
        assert supply.after(100, "MEAS:VOLT?") == pytest.approx([0.5])

    def test_what_a_capacitor_keeps_decays_from_the_end_of_the_fall(self, build: Build) -> None:
        circuit = {"capacitance_f": "1", "resistance_ohm": "100"}
        supply = build("supply", circuit=circuit, fall_time_s="1")
        switched_on(supply, "VOLT 1;CURR 0.5").clock.passes(3)
        supply.ask("OUTP OFF")
        left_v = -50 + 51 * math.exp(-0.01)  # 1 s at -0.5 A through 100 Ohm and 1 F
        assert supply.after(101, "MEAS:VOLT?") == pytest.approx([left_v / math.e])
