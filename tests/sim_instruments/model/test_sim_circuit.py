"""How a load is described, and what is wrong with some descriptions."""

from __future__ import annotations

import math

import msgspec
import pytest

from sim_instruments.model.circuit import Circuit
from sim_instruments.model.loads import Capacitor, Diode, Load, Resistor


@pytest.mark.parametrize(
    ("described", "load"),
    [
        ({}, Resistor(math.inf)),
        ({"resistance_ohm": "10"}, Resistor(10)),
        ({"emf_v": "12", "resistance_ohm": "0.1"}, Resistor(0.1, 12)),
        ({"emf_v": "1.25"}, Resistor(math.inf, 1.25)),
        ({"capacitance_f": "1e-3", "resistance_ohm": "1e4"}, Capacitor(1e-3, 1e4)),
        ({"capacitance_f": "1e-3"}, Capacitor(1e-3, math.inf)),
        ({"forward_v": "2.1", "forward_a": "0.02", "ideality": "2"}, Diode(2.1, 0.02, 2)),
        ({"forward_v": "0.6"}, Diode(0.6, 0.01, 1)),
    ],
)
def test_the_keys_say_what_is_connected(described: dict[str, str], load: Load) -> None:
    assert msgspec.convert(described, Circuit, strict=False).load() == load


@pytest.mark.parametrize(
    ("described", "problem"),
    [
        ({"resistance_ohm": "0"}, "resistance_ohm is 0, expected a number > 0"),
        ({"resistance_ohm": "nan"}, "resistance_ohm is nan, expected"),
        ({"capacitance_f": "-1"}, "capacitance_f is -1, expected"),
        ({"capacitance_f": "inf"}, "capacitance_f is inf, expected a finite"),
        ({"emf_v": "nan"}, "emf_v is nan, expected a finite number"),
        ({"emf_v": "inf"}, "emf_v is inf, expected a finite number"),
        ({"forward_v": "0"}, "forward_v is 0, expected"),
        ({"emf_v": "1", "forward_v": "1"}, "emf_v and forward_v are given, expected at most one"),
        ({"forward_v": "1", "resistance_ohm": "1"}, "resistance_ohm is given beside forward_v"),
        ({"resistor": "1"}, "unknown field `resistor`"),
    ],
)
def test_a_mistake_is_said_in_one_line(described: dict[str, str], problem: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=problem) as caught:
        msgspec.convert(described, Circuit, strict=False)
    assert "\n" not in str(caught.value)


def test_two_instruments_do_not_share_a_capacitor() -> None:
    circuit = Circuit(capacitance_f=1)
    assert circuit.load() is not circuit.load()
