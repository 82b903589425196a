"""Program messages taken apart as SCPI-99 and IEEE 488.2 say, for checks before sending.

Nothing here refuses a message: whatever the bytes, the result is what an instrument would
make of them, and a reader that is unsure cuts a message into more commands, not fewer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_safetyq.dispatcher.payload import skip_data

# <white space>, IEEE 488.2-1992 7.4.1.2: every control character but newline, and space.
# Newline ends a program message (7.5.2). Carriage return counts as an end too, because for
# many instruments it is one.
_WHITE = "".join(map(chr, range(0x21)))
_ENDS = "\r\n"
_HEADER = re.compile(r"[^\x00-\x20]*")


@dataclass(frozen=True, slots=True)
class Unit:
    """One command or query of a program message (<PROGRAM MESSAGE UNIT>, IEEE 488.2 7.3).

    Attributes:
        text: The unit as it was written, without surrounding white space.
        header: The full header in upper case, ``:SOUR:VOLT``, without a query's ``?``; a
            common command has no colon: ``*RST``.
        query: It asks.
        parameters: Its parameters, without surrounding white space.
    """

    text: str
    header: str
    query: bool
    parameters: tuple[str, ...]


def split_units(message: bytes | str) -> list[Unit]:
    """Return the commands and queries of ``message``, their headers made absolute.

    A unit is taken relative to the path of the one before it, a leading colon starts at the
    root, and a common command leaves the path alone (SCPI-99 vol. 1, 6.2.4). Separators in
    quoted strings and in blocks (IEEE 488.2-1992 7.7.5, 7.7.6) do not count.

    Args:
        message: One or several program messages; never raises, whatever it holds.
    """
    text = message if isinstance(message, str) else message.decode("latin-1")
    units: list[Unit] = []
    path = ""
    for part, end in _parts(text, ";" + _ENDS):
        unit = _unit(part.strip(_WHITE), path)
        if unit is not None:
            units.append(unit)
            if not unit.header.startswith("*"):
                path = unit.header.rpartition(":")[0]
        if end != ";":
            path = ""
    return units


class HeaderPattern:
    """A command header in the notation of SCPI manuals.

    ``[:SOURce[1]]:VOLTage[:LEVel]``: brackets hold what may be left out, capitals are the
    short form (SCPI-99 vol. 1, 6.2.1), and a mnemonic without a numeric suffix
    means suffix 1 (6.2.5). ``[1|2]`` lists suffixes; ``[n]`` or ``<n>`` takes any.

    Args:
        notation: The header.

    Raises:
        ValueError: It is not in this notation; the message says what is wrong.
    """

    def __init__(self, notation: str) -> None:
        self.notation = notation
        self._regex = re.compile(_regex_of(notation))

    def __repr__(self) -> str:
        return f"HeaderPattern({self.notation!r})"

    def matches(self, header: str) -> bool:
        """Return whether ``header`` (any case, colon in front or not) is this one."""
        absolute = header if header.startswith(":") else ":" + header
        return self._regex.fullmatch(absolute.upper()) is not None


def split_parameters(text: str) -> tuple[str, ...]:
    """Split ``5,(@1,2)`` into ``5`` and ``(@1,2)``: commas in parentheses do not count."""
    parameters: list[str] = []
    depth = 0
    current = ""
    for part, end in _parts(text, ",()"):
        current += part
        if end == "," and depth == 0:
            parameters.append(current.strip(_WHITE))
            current = ""
            continue
        depth += {"(": 1, ")": -1}.get(end, 0)
        current += end
    parameters.append(current.strip(_WHITE))
    return tuple(parameters) if text.strip(_WHITE) else ()


def _unit(text: str, path: str) -> Unit | None:
    found = _HEADER.match(text)
    written = found[0] if found else ""
    if not written:
        return None
    name = written.removesuffix("?").upper()
    absolute = name if name.startswith((":", "*")) else f"{path}:{name}"
    return Unit(
        text=text,
        header=absolute,
        query=written.endswith("?"),
        parameters=split_parameters(text[len(written) :]),
    )


def _parts(text: str, separators: str) -> Iterator[tuple[str, str]]:
    """Yield the text between separators, each with the separator that ended it."""
    start = position = 0
    while position < len(text):
        if text[position] in separators:
            yield text[start:position], text[position]
            start = position = position + 1
        else:
            position = skip_data(text, position)
    yield text[start:], ""


_TOKEN = re.compile(
    r"(?P<node>[A-Za-z_]+)(?P<digits>[0-9]*)(?P<suffix>\[(?:[0-9]+(?:\|[0-9]+)*|n)\]|<n>)?"
    r"|(?P<punctuation>[\[\]:])"
)


def _regex_of(notation: str) -> str:
    pieces = [] if notation.lstrip("[").startswith(":") else [":"]
    position = depth = nodes = 0
    while position < len(notation):
        token = _TOKEN.match(notation, position)
        if token is None:
            raise ValueError(f'"{notation}" is not SCPI notation at "{notation[position:]}"')
        position = token.end()
        if token["node"]:
            nodes += 1
            pieces.append(_node_regex(token["node"], token["digits"], token["suffix"]))
        else:
            depth += {"[": 1, "]": -1}.get(token[0], 0)
            if depth < 0:
                break
            pieces.append({"[": "(?:", "]": ")?", ":": ":"}[token[0]])
    if depth != 0 or nodes == 0:
        raise ValueError(f'"{notation}" has brackets that do not pair, or no command')
    return "".join(pieces)


def _node_regex(mnemonic: str, digits: str, suffix: str | None) -> str:
    if not re.fullmatch(r"[A-Z_]+[a-z_]*|[a-z_]+", mnemonic):
        raise ValueError(f'"{mnemonic}" mixes capitals: the short form comes first, as in VOLTage')
    short = re.match(r"[A-Z_]*", mnemonic)
    forms = {mnemonic.upper(), short[0] if short else ""} - {""}
    return f"(?:{'|'.join(sorted(forms))}){_suffix_regex(digits, suffix)}"


def _suffix_regex(digits: str, suffix: str | None) -> str:
    if suffix in ("[n]", "<n>"):
        return "[0-9]*"
    allowed = {int(number) for number in re.findall(r"[0-9]+", digits + (suffix or ""))} or {1}
    numbers = f"0*(?:{'|'.join(str(number) for number in sorted(allowed))})"
    return f"(?:{numbers})?" if 1 in allowed else numbers
