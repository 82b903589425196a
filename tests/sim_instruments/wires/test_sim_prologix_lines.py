"""What a host sends to a Prologix controller, from any bytes in any chunks."""

from __future__ import annotations

from chunking import cuts, events
from hypothesis import given
from hypothesis import strategies as st

from sim_instruments.wires.prologix.lines import (
    LONGEST_COMMAND_BYTES,
    LONGEST_PART_BYTES,
    Command,
    Data,
    LineReader,
)

SPECIAL = b"\r\n\x1b+"


class NoError(Exception):
    """The reader has no error of its own: every byte means something."""


def read(stream: bytes, cuts: list[int] | None = None) -> list[Command | Data | str]:
    return events(LineReader().feed, stream, cuts or [], NoError)


def escaped(data: bytes) -> bytes:
    return b"".join(b"\x1b" + bytes([byte]) if byte in SPECIAL else bytes([byte]) for byte in data)


@given(
    stream=st.lists(st.sampled_from([b"+", b"++", b"\x1b", b"\r", b"\n", b"a b"])).map(b"".join)
    | st.binary(),
    cuts=cuts,
)
def test_any_bytes_give_the_same_lines_in_any_chunks(stream: bytes, cuts: list[int]) -> None:
    assert read(stream, cuts) == read(stream)


@given(data=st.lists(st.binary(min_size=1, max_size=200), max_size=4), cuts=cuts)
def test_escaped_binary_data_arrive_as_they_were(data: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(escaped(line) + b"\n" for line in data)
    assert read(stream, cuts) == [Data(line, is_end=True) for line in data]


def test_the_manuals_example_of_binary_data_is_what_the_manual_says() -> None:
    stream = bytes([0, 1, 2, 27, 13, 3, 27, 10, 4, 27, 27, 5, 27, 43, 6, 10])
    assert read(stream) == [Data(bytes([0, 1, 2, 13, 3, 10, 4, 27, 5, 43, 6]), is_end=True)]


def test_only_an_unescaped_plus_plus_at_the_beginning_makes_a_command() -> None:
    assert read(b"++addr 5\r\n\n++ver\n\x1b++ver\n+\x1b+ver\n1++2\n") == [
        Command("addr 5"),
        Command("ver"),
        Data(b"++ver", is_end=True),
        Data(b"++ver", is_end=True),
        Data(b"1++2", is_end=True),
    ]


def test_long_data_come_in_parts_and_a_long_command_is_cut() -> None:
    long = b"x" * (2 * LONGEST_PART_BYTES + 1)
    assert read(long + b"\n++" + long + b"\nend\n") == [
        Data(b"x" * LONGEST_PART_BYTES, is_end=False),
        Data(b"x" * LONGEST_PART_BYTES, is_end=False),
        Data(b"x", is_end=True),
        Command("x" * (LONGEST_COMMAND_BYTES - 2)),
        Data(b"end", is_end=True),
    ]


def test_a_part_that_begins_with_plus_plus_does_not_make_a_command_of_its_line() -> None:
    assert read(b"x" * LONGEST_PART_BYTES + b"++ver\n") == [
        Data(b"x" * LONGEST_PART_BYTES, is_end=False),
        Data(b"++ver", is_end=True),
    ]
