"""Which messages ask a question, and how a message is shown to people."""

import pytest

from pytest_safetyq.dispatcher import asks_question
from pytest_safetyq.dispatcher.payload import in_words


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
        b"X#0?",
        b"DATA #?",
        b"DATA #2x1?",
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
        b"DATA #0ab?cd",
        b"DATA 1,#0?;*OPC?\n",
        b"DATA #19?",
    ],
)
def test_a_question_mark_in_a_string_or_a_block_asks_nothing(payload: bytes) -> None:
    assert not asks_question(payload)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b":READ?", "':READ?'"),
        (b"OUTP OFF\r\n", "'OUTP OFF'"),
        (b"A\nB", "'A\\nB'"),
        (b'DISP "x"', "'DISP \"x\"'"),
        (b"\xff\x00", "'\\xff\\x00'"),
        (b"A" * 60, "'" + "A" * 60 + "'"),
        (b"A" * 61, "'" + "A" * 57 + "...'"),
        (b"", "''"),
    ],
)
def test_a_message_is_shown_as_text_on_one_line_of_limited_length(
    payload: bytes, words: str
) -> None:
    assert in_words(payload) == words
