"""Replies as numbers: the same arguments and results as PyVISA's methods of these names."""

from __future__ import annotations

import array
import struct

import pytest
from bench_rig import Rig

from pytest_safetyq import TransactionTimeout


def test_ascii_values_are_floats_in_a_list_by_default(rig: Rig) -> None:
    assert rig.smu.query_ascii_values(":DATA:ASC?") == [1.5, 2.5, -0.0035]


def test_ascii_values_with_a_converter_a_separator_and_a_container(rig: Rig) -> None:
    smu = rig.smu
    values = smu.query_ascii_values(":DATA:SEMI?", converter="d", separator=";", container=tuple)
    assert values == (1, 2, 3)
    assert smu.query_ascii_values(":DATA:HEX?", converter="x") == [0x1A, 0xFF]
    assert smu.query_ascii_values(":DATA:WORD?", converter=str.upper) == ["ON", "OFF"]
    assert smu.query_ascii_values(":DATA:ASC?", container=sorted) == [-0.0035, 1.5, 2.5]


def test_a_reply_that_is_no_number_is_a_value_error(rig: Rig) -> None:
    with pytest.raises(ValueError, match="on"):
        rig.smu.query_ascii_values(":DATA:WORD?")
    assert rig.smu.query(":OUTP?") == "0"


def test_the_budget_of_values_is_kept(rig: Rig) -> None:
    with pytest.raises(TransactionTimeout):
        rig.smu.query_ascii_values(":FETC?", timeout_s=0.05)
    with pytest.raises(TransactionTimeout):
        rig.smu.query_binary_values(":FETC?", timeout_s=0.05)
    assert rig.smu.query(":OUTP?") == "0"


def test_a_block_is_little_endian_floats_by_default(rig: Rig) -> None:
    assert rig.smu.query_binary_values(":CURV:FLO?") == list(struct.unpack("<2f", b"AAAABBBB"))


@pytest.mark.parametrize(("is_big_endian", "order"), [(False, "<"), (True, ">")])
def test_blocks_of_other_types_and_orders(rig: Rig, is_big_endian: bool, order: str) -> None:
    values = rig.smu.query_binary_values(
        ":CURV:WORD?", datatype="H", is_big_endian=is_big_endian, container=tuple
    )
    assert values == struct.unpack(f"{order}2H", b"ABCD")


def test_blocks_with_bytes_above_127_and_with_terminators_inside(rig: Rig) -> None:
    high = "\u00e9\u00a3".encode()
    assert rig.smu.query_binary_values(":CURV:HIGH?", datatype="B") == list(high)
    assert rig.smu.query_binary_values(":CURV:LINE?", datatype="B") == list(b"A\nB")
    assert rig.smu.query(":OUTP?") == "0"


def test_a_long_block_and_a_container_of_the_standard_library(rig: Rig) -> None:
    values = rig.smu.query_binary_values(
        ":CURV:LONG?", datatype="B", container=lambda numbers: array.array("B", numbers)
    )
    assert values == array.array("B", b"x" * 1000)


def test_a_reply_without_a_header(rig: Rig) -> None:
    values = rig.smu.query_binary_values(":CURV:BARE?", datatype="B", header_fmt="empty")
    assert list(values)[:2] == list(b"AB")


def test_a_reply_that_is_no_block_is_a_value_error(rig: Rig) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text is PyVISA's
        rig.smu.query_binary_values(":DATA:WORD?", datatype="B")
    assert rig.smu.query(":OUTP?") == "0"


async def test_the_same_from_asyncio(rig: Rig) -> None:
    smu = rig.async_smu
    assert await smu.query_ascii_values(":DATA:SEMI?", converter="d", separator=";") == [1, 2, 3]
    values = await smu.query_binary_values(
        ":CURV:WORD?", datatype="H", is_big_endian=True, container=tuple
    )
    assert values == struct.unpack(">2H", b"ABCD")
    assert await smu.query_binary_values(":CURV:BYTE?", datatype="B") == list(b"HELLO")
