"""What a message says, as far as it takes no knowledge of the instrument."""

import re

_MARK = re.compile(r"[?\"'#]")
_STRING = re.compile(r""""[^"\r\n]*"?|'[^'\r\n]*'?""")
_DIGITS = re.compile(r"[0-9]+")
_BEFORE_DATA = frozenset(map(chr, range(0x21))) | {","}
_LONGEST_QUOTE = 60


def asks_question(payload: bytes) -> bool:
    """Return whether ``payload`` has a ``?`` outside quoted strings and data blocks."""
    if b"?" not in payload:
        return False
    text = payload.decode("latin-1")
    mark = _MARK.search(text)
    while mark is not None and mark[0] != "?":
        mark = _MARK.search(text, skip_data(text, mark.start()))
    return mark is not None


def skip_data(text: str, position: int) -> int:
    """Return the position after the string, the block or the character at ``position``.

    A string ends with the message if its second quote is missing; a doubled quote inside one
    reads as two strings side by side (IEEE 488.2-1992 7.7.5). A block stands where data may
    begin (7.7.6); what only looks like one, ``#H1F`` and the like, is taken as characters.

    Args:
        text: A message, a character for each of its bytes (latin-1).
        position: A position in it, outside strings and blocks.
    """
    string = _STRING.match(text, position)
    if string is not None:
        return string.end()
    if text[position] == "#" and (position == 0 or text[position - 1] in _BEFORE_DATA):
        return _skip_block(text, position)
    return position + 1


def in_words(payload: bytes) -> str:
    """Return ``payload`` as quoted text on one line, for people; a long one is cut."""
    text = payload.strip().decode("latin-1")
    cut = text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 3] + "..."
    return ascii(cut)


def _skip_block(text: str, position: int) -> int:
    start = position + 2
    kind = text[position + 1 : start]
    if kind == "0":  # indefinite length: to the end of the message
        return len(text)
    if not kind or kind not in "123456789":
        return position + 1
    length = text[start : start + int(kind)]
    if len(length) != int(kind) or not _DIGITS.fullmatch(length):
        return position + 1
    return min(start + int(kind) + int(length), len(text))
