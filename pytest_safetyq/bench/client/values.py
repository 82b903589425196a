"""Replies as numbers, parsed by PyVISA's own functions so that they mean the same."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

BinaryHeader = Literal["ieee", "hp", "empty"]
Container = Callable[[Iterable[Any]], Sequence[Any]]


def ascii_values(
    reply: str, converter: str | Callable[[str], Any], separator: str, container: Container
) -> Sequence[Any]:
    """Return the values of a reply such as ``1.0,2.0``."""
    from pyvisa.util import from_ascii_block  # noqa: PLC0415 - PyVISA is not needed before

    return from_ascii_block(reply, converter, separator, container)  # type: ignore[arg-type]


def binary_values(
    reply: bytes,
    datatype: str,
    is_big_endian: bool,
    container: Container,
    header_fmt: BinaryHeader,
) -> Sequence[Any]:
    """Return the values of a block (IEEE 488.2, 8.7.9 and 8.7.10), a terminator after it or not."""
    from pyvisa import util  # noqa: PLC0415 - PyVISA is not needed before

    parsers: dict[str, Callable[..., Any]] = {
        "ieee": util.from_ieee_block,
        "hp": util.from_hp_block,
        "empty": util.from_binary_block,
    }
    values: Sequence[Any] = parsers[header_fmt](
        reply, datatype=datatype, is_big_endian=is_big_endian, container=container
    )
    return values
