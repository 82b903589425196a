"""What a message says: whether it asks a question, and how it is shown to people."""

import re

# What may hide a question mark that asks nothing: quoted strings (SCPI-99 vol. 1, 6.1; a
# doubled quote inside one reads as two strings side by side), and the head of a definite
# length block, whose digits say how many bytes to skip (IEEE 488.2, 7.7.6).
_HIDING = re.compile(rb"\"[^\"]*(?:\"|$)|'[^']*(?:'|$)|#([1-9])", re.DOTALL)


_SHOWN_CHARACTERS = 60


def command_text(payload: bytes) -> str:
    """Return a message as people know it, in double quotes, on one line and not too long."""
    text = payload[: _SHOWN_CHARACTERS + 1].decode("latin-1").rstrip("\r\n")
    if len(payload) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]}..."
    printable = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return f'"{"".join(printable)}"'


def asks_question(payload: bytes) -> bool:
    """Return whether ``payload`` has a ``?`` outside quoted strings and data blocks."""
    if b"?" not in payload:
        return False
    position = 0
    while True:
        hiding = _HIDING.search(payload, position)
        if hiding is None:
            return b"?" in payload[position:]
        if b"?" in payload[position : hiding.start()]:
            return True
        position = hiding.end()
        if hiding[1]:
            position = _end_of_block(payload, position, int(hiding[1]))


def _end_of_block(payload: bytes, start: int, digits: int) -> int:
    """Return where a block ends whose length is written in ``digits`` bytes at ``start``."""
    length = payload[start : start + digits]
    if len(length) < digits or not length.isdigit():
        return start  # not a block after all
    return start + digits + int(length)
