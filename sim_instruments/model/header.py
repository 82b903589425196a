"""One command header as manuals write it, such as `:OUTPut[:STATe]?`, and what matches it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sim_instruments.model.mnemonics import spellings
from sim_instruments.model.scpi_errors import HEADER_SUFFIX_OUT_OF_RANGE, ScpiError

_NODE = r":?[A-Za-z][A-Za-z0-9]*(?:<n>)?:?"
_NOTATION = re.compile(rf"(?:{_NODE}|\[{_NODE}\])+\??")
_NODES = re.compile(rf"\[{_NODE}\]|:?[A-Za-z][A-Za-z0-9]*(?:<n>)?")
_COMMON = re.compile(r"\*[A-Z]+\??")


@dataclass(frozen=True, slots=True)
class Header:
    """A compiled header. A header and its query are two headers.

    Attributes:
        notation: as written in the description.
        is_query: whether it ends in `?`.
    """

    notation: str
    is_query: bool
    _pattern: re.Pattern[str]
    _channel_group: int | None

    def match(self, spelled: str) -> int | None:
        """Compare with a header from the root, in capitals, such as `:OUTP1:STAT?`.

        Returns:
            The number written in the place of `<n>` (1 when none is written or there is no such
            place), or `None` when this is another header.

        Raises:
            ScpiError: -114, it is this header but a node has a numeric suffix other than 1
                (SCPI-99 volume 1, 6.2.5.2: a missing suffix means 1).
        """
        found = self._pattern.fullmatch(spelled)
        if found is None:
            return None
        channel = 1
        for group, digits in enumerate(found.groups(), start=1):
            number = int(digits or 1)
            if group == self._channel_group:
                channel = number
            elif number != 1:
                raise ScpiError(HEADER_SUFFIX_OUT_OF_RANGE)
        return channel

    @property
    def names_channel(self) -> bool:
        """Whether the notation has an `<n>`, so that a numeric suffix picks the channel."""
        return self._channel_group is not None


def parse_header(notation: str) -> Header:
    """Compile a header.

    Args:
        notation: nodes with their short form in capitals, optional ones in brackets, at most one
            followed by `<n>` (`:OUTPut<n>[:STATe]`); or a common command (`*IDN?`).

    Raises:
        ValueError: the notation is malformed.
    """
    is_query = notation.endswith("?")
    if _COMMON.fullmatch(notation):
        return Header(notation, is_query, re.compile(re.escape(notation)), None)
    if not _NOTATION.fullmatch(notation):
        raise ValueError(f"malformed header {notation!r}, expected the form ':OUTPut[:STATe]?'")
    nodes = _NODES.findall(notation)
    numbered = [place for place, node in enumerate(nodes, start=1) if "<n>" in node]
    if len(numbered) > 1:
        raise ValueError(f"header {notation!r} has more than one <n>")
    pattern = "".join(_node_pattern(node) for node in nodes) + (r"\?" if is_query else "")
    return Header(notation, is_query, re.compile(pattern), numbered[0] if numbered else None)


def _node_pattern(node: str) -> str:
    word = node.strip("[:]").removesuffix("<n>")
    pattern = rf":(?:{'|'.join(sorted(spellings(word)))})(\d{{0,3}})"
    return f"(?:{pattern})?" if node.startswith("[") else pattern
