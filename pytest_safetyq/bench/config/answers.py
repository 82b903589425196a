"""Whether a reply is one of the accepted answers.

This decides between CONFIRMED and UNCONFIRMED, so every doubt is a no.
"""

import re
from collections.abc import Iterable
from decimal import Decimal

# <NRf NUMERIC RESPONSE DATA>, IEEE 488.2-1992 8.7.2 to 8.7.4. Python's own idea of a number
# is wider ("nan", "1_0", other scripts' digits), and none of that means "off".
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")

_STATUS = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}")


def accepted(reply: str, answers: Iterable[str]) -> bool:
    """Return whether ``reply`` is one of ``answers``.

    Text is compared without surrounding white space and in any case, numbers by value:
    ``0``, ``+0``, ``00`` and ``0.0`` are the same. A reply of several fields (``0,0``, one
    per channel) is accepted as a whole, or if each of its fields is.

    Args:
        reply: What the instrument answered, terminator included or not.
        answers: The accepted answers; an answer with a comma stands for a whole reply.
    """
    text = reply.strip()
    known = [answer.strip() for answer in answers]
    if any(_same(text, answer) for answer in known):
        return True
    fields = text.split(",")
    return len(fields) > 1 and all(
        any(_same(field.strip(), answer) for answer in known) for field in fields
    )


def without_prefix(reply: str, prefix: str) -> str | None:
    """Return what follows ``prefix``, compared in any case, in ``reply``; None: it isn't there."""
    text, start = reply.strip(), prefix.strip()
    if text[: len(start)].casefold() != start.casefold():
        return None
    return text[len(start) :]


def masked(status: str, mask: int) -> str | None:
    """Return in decimal those bits of a status number that are in ``mask``; None: it is none.

    Args:
        status: A number without sign, in decimal or, after ``0x``, in hexadecimal.
        mask: The bits that count.
    """
    text = status.strip()
    if not _STATUS.fullmatch(text):
        return None
    return str(int(text, 16 if text[:2] in ("0x", "0X") else 10) & mask)


def _same(field: str, answer: str) -> bool:
    # An empty field is a lost reply, whatever the profile says.
    if not field:
        return False
    if field.casefold() == answer.casefold():
        return True
    return (
        _NUMBER.fullmatch(field) is not None
        and _NUMBER.fullmatch(answer) is not None
        and Decimal(field) == Decimal(answer)
    )
