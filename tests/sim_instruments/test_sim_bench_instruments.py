from __future__ import annotations

from collections.abc import Callable

import pytest
from pyvisa.resources import MessageBasedResource

Connect = Callable[..., MessageBasedResource]
SMU, SUPPLY, DMM, LOAD = (f"GPIB0::{address}::INSTR" for address in (5, 6, 7, 8))


def numbers(reply: str) -> list[float]:
    return [float(number) for number in reply.split(",")]


@pytest.mark.parametrize(
    ("resource", "identity"),
    [
        (SMU, "KEITHLEY INSTRUMENTS INC.,MODEL 2400,SIM0001,C32"),
        (SUPPLY, "SIM INSTRUMENTS,TWO-CHANNEL SUPPLY,SIM0002,1.0"),
        (DMM, "SIM INSTRUMENTS,MULTIMETER,SIM0003,1.0"),
        (LOAD, "SIM INSTRUMENTS,ELECTRONIC LOAD,SIM0004,1.0"),
    ],
)
def test_each_instrument_says_who_it_is(connect: Connect, resource: str, identity: str) -> None:
    assert connect(resource).query("*idn?") == identity


def test_the_smu_drives_its_resistor_only_while_it_is_on(smu: MessageBasedResource) -> None:
    smu.write(":SOUR:VOLT 2")
    assert smu.query("MEAS:CURR?") == "+0.000000E+00"
    smu.write("OUTP ON")
    assert smu.query(":MEASure:CURRent:DC?") == "+2.000000E-02"
    assert smu.query("MEAS:VOLT?") == "+2.000000E+00"
    smu.write("OUTP OFF")
    assert numbers(smu.query("MEAS:CURR?") + "," + smu.query("MEAS:VOLT?")) == [0, 0]


@pytest.mark.parametrize("query", ["READ?", "MEAS?", ":FETC?"])
def test_a_full_reading_is_five_numbers(smu: MessageBasedResource, query: str) -> None:
    smu.write(":SOUR:VOLT 2;:OUTP ON")
    voltage, current, resistance, time_s, status = numbers(smu.query(query))
    assert [voltage, current, resistance, status] == [2, 0.02, 100, 0]
    assert 0 < time_s < 60


def test_compliance_limits_the_smu_and_shows_in_the_status(smu: MessageBasedResource) -> None:
    smu.write(":SENS:CURR:PROT 10 mA;:SOUR:VOLT 2;:OUTP ON")
    assert numbers(smu.query("READ?"))[:2] == [1, 0.01]
    assert numbers(smu.query("READ?"))[4] == 8


def test_the_smu_sources_current_up_to_its_voltage_limit(smu: MessageBasedResource) -> None:
    smu.write(":SOUR:FUNC CURR;CURR 0.1;:SENS:VOLT:PROT 20;:OUTP ON")
    assert numbers(smu.query("READ?"))[:2] == [10, 0.1]
    smu.write(":SENS:VOLT:DC:PROT:LEV 5")
    assert numbers(smu.query("READ?"))[:2] == [5, 0.05]


def test_a_resistance_without_a_current_is_not_a_number(smu: MessageBasedResource) -> None:
    assert numbers(smu.query("READ?"))[2] == 9.91e37


def test_the_supply_acts_on_the_selected_channel(supply: MessageBasedResource) -> None:
    supply.write("INST CH2;:VOLT 5;:OUTP ON")
    supply.write("INST:NSEL 1;:VOLT 3")
    assert supply.query("INST?;:VOLT?;:OUTP?") == "CH1;+3.000000E+00;0"
    supply.write("INSTrument:SELect ch2")
    assert supply.query("INST:NSEL?;:SOUR:VOLT?;:OUTP?") == "2;+5.000000E+00;1"
    assert supply.query("MEAS:VOLT?;CURR?") == "+3.720000E+00;+1.000000E-01"


def test_the_battery_on_the_supplys_second_channel_is_there_when_it_is_off(
    supply: MessageBasedResource,
) -> None:
    assert supply.query("INST CH2;:OUTP?;:MEAS:VOLT?;CURR?") == "0;+3.700000E+00;+0.000000E+00"


def test_the_supply_takes_channel_lists(supply: MessageBasedResource) -> None:
    supply.write("OUTP ON,(@1:2)")
    assert supply.query("OUTP? (@1,2)") == "1,1"
    supply.write("OUTP OFF,(@1,2)")
    assert supply.query("OUTP? (@1,2)") == "0,0"
    supply.write("VOLT 3,(@2)")
    assert numbers(supply.query("VOLT? (@1,2)")) == [0, 3]


def test_the_supply_limits_its_current(supply: MessageBasedResource) -> None:
    supply.write("VOLT 5;CURR 0.2;OUTP ON")
    assert numbers(supply.query("MEAS:VOLT?") + "," + supply.query("MEAS:CURR?")) == [2, 0.2]


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("INST CH3", -224),
        ("OUTP OFF,(@3)", -222),
        ("OUTP OFF,(@1;2)", -171),
        ("OUTP (@1)", -109),
    ],
)
def test_a_channel_that_is_not_there_is_an_error(
    supply: MessageBasedResource, message: str, error: int
) -> None:
    supply.write(message)
    assert supply.query("SYST:ERR?").startswith(f"{error},")


def test_reset_selects_the_first_channel_and_switches_all_off(
    supply: MessageBasedResource,
) -> None:
    supply.write("OUTP ON,(@1,2);INST CH2;*RST")
    assert supply.query("INST?;:OUTP? (@1,2)") == "CH1;0,0"


def test_an_instrument_with_one_channel_takes_no_channel_list(smu: MessageBasedResource) -> None:
    smu.write("OUTP OFF,(@1)")
    assert smu.query("SYST:ERR?") == '-108,"Parameter not allowed"'


def test_the_dmm_measures_and_has_no_output(connect: Connect) -> None:
    dmm = connect(DMM)
    dmm.write("CONF:VOLT:DC 10,0.001")
    assert numbers(dmm.query("READ?")) == [1.25]
    assert numbers(dmm.query("MEAS:VOLT? 10,0.001")) == [1.25]
    dmm.write("OUTP OFF")
    assert dmm.query("SYST:ERR?") == '-113,"Undefined header"'


def test_the_load_takes_current_only_while_its_input_is_on(connect: Connect) -> None:
    load = connect(LOAD)
    load.write("CURR 10")
    assert numbers(load.query("MEAS:CURR?") + "," + load.query("MEAS:VOLT?")) == [0, 12]
    load.write("INP ON")
    assert numbers(load.query("MEAS:CURR?") + "," + load.query("MEAS:VOLT?")) == [10, 11]
    assert numbers(load.query("MEAS:POW?")) == [110]
