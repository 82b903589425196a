"""Program messages taken apart, and headers matched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_safetyq.bench.scpi import HeaderPattern, split_parameters, split_units


def headers(message: bytes | str) -> list[str]:
    return [unit.header + "?" * unit.query for unit in split_units(message)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"SOUR:VOLT 1;CURR 5", [":SOUR:VOLT", ":SOUR:CURR"]),
        (b"SOUR:VOLT 1;:CURR 5", [":SOUR:VOLT", ":CURR"]),
        (b"sour:volt:lev 1;*wai;trig 5", [":SOUR:VOLT:LEV", "*WAI", ":SOUR:VOLT:TRIG"]),
        (b"VOLT 1;CURR 5", [":VOLT", ":CURR"]),
        (b"SOUR:VOLT 1\nCURR 5\r\n", [":SOUR:VOLT", ":CURR"]),
        (b"VOLT 1\rVOLT 2", [":VOLT", ":VOLT"]),
        (b"SOUR:VOLT?;CURR?", [":SOUR:VOLT?", ":SOUR:CURR?"]),
        (b" ; ;VOLT 1 ; ", [":VOLT"]),
        (b"", []),
        (b"DISP:TEXT 'a;b';STAT 1", [":DISP:TEXT", ":DISP:STAT"]),
        (b'DISP "say ""a;b""";CLE', [":DISP", ":CLE"]),
        (b"DISP 'open\nVOLT 5", [":DISP", ":VOLT"]),
        (b"DATA #15;VOLT;CURR 1", [":DATA", ":CURR"]),
        (b"DATA 1,#216a;b\nc;d'e\"f\x00ghij;CURR 1", [":DATA", ":CURR"]),
        (b"DATA #0;VOLT 1\n", [":DATA"]),
        (b"DATA #9;VOLT 1", [":DATA", ":VOLT"]),
        (b"X #H1F;VOLT 1", [":X", ":VOLT"]),
        (b"X#15;VOLT 1", [":X#15", ":VOLT"]),
        (b"DATA #3999;VOLT 1", [":DATA"]),
        ("VOLT\t1", [":VOLT"]),
    ],
)
def test_the_units_of_a_message(message: bytes | str, expected: list[str]) -> None:
    assert headers(message) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        (" 5 ", ("5",)),
        ("5,(@1,2)", ("5", "(@1,2)")),
        ("1 , 2,3", ("1", "2", "3")),
        ("'a,b',c", ("'a,b'", "c")),
        ("5,", ("5", "")),
        ("(5,100", ("(5,100",)),
    ],
)
def test_the_parameters_of_a_unit(text: str, expected: tuple[str, ...]) -> None:
    assert split_parameters(text) == expected


def test_a_unit_keeps_its_text() -> None:
    _, unit = split_units(b"SOUR:VOLT 1; curr  5 ")

    assert (unit.text, unit.parameters, unit.query) == ("curr  5", ("5",), False)


@given(st.binary())
def test_no_message_raises(message: bytes) -> None:
    for unit in split_units(message):
        assert unit.header[0] in ":*"


@given(st.text(alphabet="VOLT:;#'\"(),@ 0123456789\n?*"))
def test_no_message_of_separators_raises(message: str) -> None:
    for unit in split_units(message):
        assert unit.header[0] in ":*"


FULL = "[:SOURce[1]]:VOLTage[:LEVel][:IMMediate][:AMPLitude]"


@pytest.mark.parametrize(
    "header",
    [
        "VOLT",
        ":VOLT",
        "voltage",
        "SOUR:VOLT",
        "SOUR1:VOLTAGE",
        ":SOURce01:VOLT:LEV",
        "VOLT:LEV:IMM:AMPL",
        "VOLT:AMPL",
        "VOLT1",
    ],
)
def test_a_header_that_matches(header: str) -> None:
    assert HeaderPattern(FULL).matches(header)


@pytest.mark.parametrize(
    "header",
    [
        "VOL",
        "VOLTA",
        "VOLTS",
        "SOUR2:VOLT",
        "VOLT:PROT",
        "SENS:VOLT",
        "VOLT:AMPL:LEV",
        "",
        ":",
        "VOLT:",
        "::VOLT",
        "VOLT\n",
    ],
)
def test_a_header_that_does_not_match(header: str) -> None:
    assert not HeaderPattern(FULL).matches(header)


@pytest.mark.parametrize(
    ("notation", "right", "wrong"),
    [
        ("OUTPut[1|2]:STATe", ["OUTP:STAT", "OUTP2:STAT"], ["OUTP3:STAT"]),
        ("OUTPut[2|3]", ["OUTP2", "OUTP3"], ["OUTP", "OUTP1"]),
        ("SOURce<n>:CURRent", ["SOUR:CURR", "SOUR17:CURR"], ["CURR"]),
        ("[:SOURce[n]]:CURRent", ["SOUR9:CURR", "CURR"], ["SOURX:CURR"]),
        ("CH2", ["CH2"], ["CH", "CH1"]),
        ("[SOURce:]VOLTage[:LEVel[:IMMediate]]", ["VOLT", "SOUR:VOLT:LEV:IMM"], ["VOLT:IMM"]),
        ("pv", ["PV", "pv"], ["P"]),
    ],
)
def test_the_notation(notation: str, right: list[str], wrong: list[str]) -> None:
    pattern = HeaderPattern(notation)

    assert [header for header in right if not pattern.matches(header)] == []
    assert [header for header in wrong if pattern.matches(header)] == []


@pytest.mark.parametrize(
    "notation", ["", ":", "[", "[:VOLTage", ":VOLTage]", "VoLTage", "VOLT?", "VOLT 1", "]VOLT["]
)
def test_notation_that_is_none(notation: str) -> None:
    with pytest.raises(ValueError, match=r"SCPI notation|brackets|capitals"):
        HeaderPattern(notation)


@given(st.text())
def test_no_header_raises(header: str) -> None:
    assert HeaderPattern(FULL).matches(header) in (True, False)


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """A header by the notation's own rules, node by node."""
    nodes = []
    for short, rest, optional in [
        ("SOUR", "ce", True),
        ("VOLT", "age", False),
        ("LEV", "el", True),
        ("IMM", "ediate", True),
        ("AMPL", "itude", True),
    ]:
        if optional and draw(st.booleans()):
            continue
        name = short + draw(st.sampled_from(["", rest]))
        name += draw(st.sampled_from(["", "1"]))
        nodes.append("".join(draw(st.sampled_from([c.lower(), c.upper()])) for c in name))
    return draw(st.sampled_from(["", ":"])) + ":".join(nodes)


@given(spellings())
def test_every_spelling_of_a_header_matches(header: str) -> None:
    assert HeaderPattern(FULL).matches(header)
    assert not HeaderPattern(FULL).matches(header + "x")
