"""Which replies mean "off"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_safetyq.bench.config import Confirm, Identity

OFF = Confirm(query="OUTP?", accept=("0", "OFF"))


@pytest.mark.parametrize(
    "reply",
    [
        "0",
        " 0\n",
        "+0",
        "-0",
        "00",
        "0.0",
        "0.",
        ".0",
        "0E+00",
        "OFF",
        "off",
        "Off\r\n",
        "0,0",
        "0, 0",
        "OFF,0",
        "0,0,0,0",
    ],
)
def test_off(reply: str) -> None:
    assert OFF.accepts(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " ",
        "\n",
        "1",
        "ON",
        "0,1",
        "1,0",
        "0,",
        ",0",
        ",",
        "0;0",
        "0 0",
        "OFFLINE",
        "O",
        "0V",
        "0x0",
        "nan",
        "0_0",
        "\u0660",
        "1E-9",
        '-113,"Undefined header"',
        "KEITHLEY",
        '"OFF"',
    ],
)
def test_not_off(reply: str) -> None:
    assert not OFF.accepts(reply)


def test_an_answer_with_a_comma_is_a_whole_reply() -> None:
    confirm = Confirm(query="X?", accept=("0,1",))

    assert confirm.accepts("0,1\n")
    assert not confirm.accepts("0,1,0,1")
    assert not confirm.accepts("0,0")


def test_a_value_near_an_accepted_one_is_another() -> None:
    assert not Confirm(query="X?", accept=("0.1",)).accepts("0.10000000000000000001")
    assert Confirm(query="X?", accept=("0.1",)).accepts("1.0E-1")


@given(st.text())
def test_no_reply_raises(reply: str) -> None:
    # Whatever is accepted is made of the two answers and of separators, and of nothing else.
    if OFF.accepts(reply):
        assert not set(reply.casefold().strip()) - set("of0+-.e, \t\r\n123456789")


def test_identity() -> None:
    identity = Identity(matches=("MODEL 2400", "MODEL 24"))

    assert identity.fits("keithley,model 2400,1,2")
    assert identity.matched_length("KEITHLEY,MODEL 2400,1,2") == len("MODEL 2400")
    assert not identity.fits("KEITHLEY,MODEL 2600,1,2")
    assert Identity().fits("anything")
