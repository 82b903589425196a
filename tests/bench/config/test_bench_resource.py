"""Spellings of one resource name."""

import pytest

from pytest_safetyq.bench.config.resource import same_resource_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPIB0::5::INSTR", "gpib::5"),
        ("GPIB0::5::INSTR", " GPIB00::5 "),
        ("TCPIP::10.0.0.2::INSTR", "TCPIP0::10.0.0.2::inst0::INSTR"),
        ("TCPIP0::host::5025::SOCKET", "tcpip::HOST::5025::socket"),
        ("USB::0x0957::0x0407::SN1::INSTR", "USB0::0X0957::0x0407::SN1"),
        ("ASRL3::INSTR", "asrl3"),
        ("ASRL/dev/ttyUSB0::INSTR", "ASRL/dev/ttyUSB0"),
    ],
)
def test_the_same(one: str, other: str) -> None:
    assert same_resource_key(one) == same_resource_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPIB0::5::INSTR", "GPIB1::5::INSTR"),
        ("GPIB0::5::INSTR", "GPIB0::5::1::INSTR"),
        ("TCPIP0::host::INSTR", "TCPIP0::host::hislip0::INSTR"),
        ("ASRL/dev/ttyA::INSTR", "ASRL/dev/ttya::INSTR"),
        ("ASRL1::INSTR", "ASRL2::INSTR"),
    ],
)
def test_not_the_same(one: str, other: str) -> None:
    assert same_resource_key(one) != same_resource_key(other)
