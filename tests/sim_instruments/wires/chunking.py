"""Feeding a parser in chunks, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeVar

from hypothesis import strategies as st

Event = TypeVar("Event")

cuts = st.lists(st.integers(0, 400), max_size=8)
"""Where a stream is cut, in bytes from its beginning."""


def events(
    feed: Callable[[bytes], Iterator[Event]],
    stream: bytes,
    cuts: list[int],
    error: type[Exception],
) -> list[Event | str]:
    """Give every event in order; the parser's own error, and no other, may be the last."""
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    got: list[Event | str] = []
    try:
        for start, end in pairwise(edges):
            for event in feed(stream[start:end]):
                got.append(event)
    except error as problem:
        got.append(str(problem))
    return got
