"""Which messages ask a question."""

import pytest

from pytest_safetyq.dispatcher import asks_question


@pytest.mark.parametrize(
    "payload",
    [
        b"*IDN?",
        b"MEAS:VOLT? 10,0.001",
        b"VOLT 5;VOLT?",
        b'DISP "hello";*OPC?',
        b"DISP 'it''s';*OPC?",
        b'DISP "say ""what?""";*OPC?',
        b"DATA #15ab?cd;*OPC?",
        b"DATA #210??????????;*OPC?",
        b"?",
        b"X? #13abc",
        b"#H1F?",
    ],
)
def test_a_question_mark_in_the_open_asks(payload: bytes) -> None:
    assert asks_question(payload)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"OUTP OFF",
        b'DISP "ready?"',
        b"DISP 'ready?'",
        b"DISP 'it''s ready?'",
        b'DISP "say ""what?"" now"',
        b'DISP "it\'s ready?"',
        b"DISP 'he said \"what?\"'",
        b"DATA #15ab?cd",
        b"DATA #210??????????",
        b"DATA #15a\"?'b",
        b"DATA #13?\n?",
    ],
)
def test_a_question_mark_in_a_string_or_a_block_asks_nothing(payload: bytes) -> None:
    assert not asks_question(payload)
