from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sim_instruments.framing import MAX_MESSAGE_BYTES, Framer


def test_two_lines_in_one_chunk_are_two_messages() -> None:
    assert Framer(b"\n").feed(b"*CLS\nOUTP OFF\n*ID") == [b"*CLS", b"OUTP OFF"]


@given(
    lines=st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=5),
    cuts=st.lists(st.integers(0, 120), max_size=6),
)
def test_messages_do_not_depend_on_where_the_chunks_end(
    lines: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    edges = [0, *sorted(cuts), len(stream)]
    framer = Framer(b"\n")
    got = [message for start, end in pairwise(edges) for message in framer.feed(stream[start:end])]
    assert got == lines


def test_an_overlong_line_is_one_lost_message_however_it_arrives() -> None:
    for terminator in (b"\n", b"\r\n"):
        framer = Framer(terminator)
        assert framer.feed(b"x" * (MAX_MESSAGE_BYTES + 1) + terminator + b"a" + terminator) == [
            None,
            b"a",
        ]
        for _ in range(3):
            assert framer.feed(b"x" * MAX_MESSAGE_BYTES + terminator[:-1]) == []
        assert framer.feed(terminator[-1:] + b"b" + terminator) == [None, b"b"]


def test_a_line_of_the_greatest_length_is_a_message() -> None:
    line = b"x" * MAX_MESSAGE_BYTES
    assert Framer(b"\n").feed(line + b"\n") == [line]
