"""Another instrument is another piece of YAML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import pyvisa
from pyvisa.resources import MessageBasedResource

TWO_CHANNEL_SMU = r"""
spec: "1.1"
devices:
  b2900:
    eom:
      TCPIP SOCKET: {q: "\r\n", r: "\r\n"}
    dialogues:
      - {q: "*IDN?", r: "SIM,B2902,0,0"}
      - {q: ":DISPlay:CLEar"}
    scpi:
      role: source
      number_format: ".3f"
      settings:
        output: {type: switch, header: ":OUTPut<n>[:STATe]", default: 1}
        current: {type: number, header: ":SOURce<n>:CURRent", unit: A, min: 0, max: 1, default: 0.5}
        auto_on: {type: switch, header: ":OUTPut<n>:ON:AUTO", default: ON}
      readings:
        ":MEASure:VOLTage?": [voltage]
    circuits:
      "1": {resistance_ohm: 2}
      "2": {resistance_ohm: 4}
resources:
  TCPIP0::localhost::5025::SOCKET: {device: b2900}
"""


@pytest.fixture
def b2900(
    tmp_path: Path, open_file: Callable[[Path], pyvisa.ResourceManager]
) -> MessageBasedResource:
    path = tmp_path / "fifth.yaml"
    path.write_text(TWO_CHANNEL_SMU)
    session = open_file(path).open_resource(
        "TCPIP0::localhost::5025::SOCKET", read_termination="\r\n", write_termination="\r\n"
    )
    assert isinstance(session, MessageBasedResource)
    return session


def test_a_number_in_the_header_picks_the_channel(b2900: MessageBasedResource) -> None:
    b2900.write(":OUTP2 OFF;:SOUR2:CURR 100 mA")
    assert b2900.query(":OUTP?;:OUTPUT2:STATE?;:SOUR1:CURR?;:SOUR2:CURR?") == "1;0;0.500;0.100"
    assert b2900.query("MEAS:VOLT? (@1,2)") == "1.000,0.000"


def test_a_number_without_a_channel_is_out_of_range(b2900: MessageBasedResource) -> None:
    b2900.write("OUTP3 OFF")
    assert b2900.query("SYST:ERR?") == '-114,"Header suffix out of range"'


def test_its_dialogues_are_understood_in_any_spelling(b2900: MessageBasedResource) -> None:
    b2900.write("disp:cle")
    assert b2900.query("syst:err?;*idn?") == '0,"No error";SIM,B2902,0,0'


def test_a_setting_without_a_physical_meaning_is_remembered(b2900: MessageBasedResource) -> None:
    b2900.write(":OUTP1:ON:AUTO 0")
    assert b2900.query(":OUTP1:ON:AUTO?;:OUTP2:ON:AUTO?") == "0;1"
