"""A YAML file as a tree of nodes that know their lines.

YAML 1.2's core schema, not PyYAML's YAML 1.1: there ``off`` is the truth value false, and
a profile's own key ``off`` and the answer ``OFF`` would both be lost. Nothing is ever
constructed from a tag.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import yaml

from pytest_safetyq.bench.config.errors import BenchFileError, quoted

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_ALIASES = 100

Scalar = None | bool | int | float | str

_TAG = "tag:yaml.org,2002:"
# YAML 1.2.2, 10.3.2. Digits are bounded because CPython refuses to convert very long ones.
_CORE = [
    (_TAG + "null", re.compile(r"(?:null|Null|NULL|~|)\Z")),
    (_TAG + "bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")),
    (_TAG + "int", re.compile(r"(?:[-+]?[0-9]{1,300}|0o[0-7]{1,64}|0x[0-9a-fA-F]{1,64})\Z")),
    (
        _TAG + "float",
        re.compile(
            r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
        ),
    ),
]
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# The C parser where PyYAML was built with it; `None` makes a resolver apply to every scalar.
_CoreLoader = type(
    "_CoreLoader",
    (getattr(yaml, "CSafeLoader", yaml.SafeLoader),),
    {"yaml_implicit_resolvers": {None: _CORE}},
)


def parse_file(path: Path) -> yaml.Node:
    """Return the root node of the YAML file at ``path``.

    Raises:
        BenchFileError: It cannot be read, or is not one YAML document of reasonable size.
    """
    return parse_text(_text(path), str(path))


def parse_text(text: str, file: str) -> yaml.Node:
    """Return the root node of the YAML document ``text``.

    Args:
        text: The document.
        file: Its name in error messages.

    Raises:
        BenchFileError: It is empty, not YAML, or nested or aliased beyond reason.
    """
    control = _CONTROL.search(text)
    if control is not None:
        raise BenchFileError(
            file,
            f"control character {ord(control[0]):#04x}",
            "take it out, or write it as an escape in double quotes",
            line=text.count("\n", 0, control.start()) + 1,
        )
    try:
        _refuse_bombs(yaml.parse(text, Loader=_CoreLoader), file)
        root: yaml.Node | None = yaml.compose(text, Loader=_CoreLoader)
    except yaml.YAMLError as error:
        # A parser's error has a mark and a problem, a reader's has neither.
        mark = getattr(error, "problem_mark", None)
        raise BenchFileError(
            file,
            f"not YAML: {getattr(error, 'problem', error)}",
            "write YAML, indented with spaces",
            line=mark.line + 1 if mark is not None else None,
        ) from error
    if root is None:
        raise BenchFileError(file, "the file is empty", "write at least one key")
    return root


def scalar_value(node: yaml.Node) -> Scalar:
    """Return the value of a scalar node, plain or quoted, by YAML's core schema.

    Raises:
        ValueError: The node has a tag of its own, such as ``!!python/name``.
    """
    text: str = node.value
    match node.tag.removeprefix(_TAG):
        case "str":
            return text
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            # Base 0 refuses a leading zero, which means nothing special in YAML 1.2.
            return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
        case "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    raise ValueError(f"the tag {quoted(node.tag)} is not supported")


def line_of(thing: yaml.Node | yaml.Event) -> int:
    """Return the line, from 1, where a node or an event begins."""
    mark = thing.start_mark
    return 1 if mark is None else mark.line + 1


def _text(path: Path) -> str:
    file = str(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise BenchFileError(file, "no such file", "write the path of a YAML file") from None
    except IsADirectoryError:
        raise BenchFileError(
            file, "is a directory", "write the path of the YAML file in it"
        ) from None
    except (OSError, ValueError) as error:
        # ValueError: a null character in the path.
        raise BenchFileError(
            file, f"cannot be read ({error})", "write the path of a readable YAML file"
        ) from error
    if len(data) > MAX_BYTES:
        raise BenchFileError(
            file, f"is longer than {MAX_BYTES} bytes", "write the path of a bench or profile file"
        )
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise BenchFileError(
            file,
            f"not UTF-8 at byte {error.start} (0x{data[error.start]:02x})",
            "save the file as UTF-8",
            line=data.count(b"\n", 0, error.start) + 1,
        ) from error


def _refuse_bombs(events: Iterable[yaml.Event], file: str) -> None:
    depth = aliases = 0
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > MAX_DEPTH or aliases > MAX_ALIASES:
            raise BenchFileError(
                file,
                f"more than {MAX_DEPTH} levels or {MAX_ALIASES} aliases",
                "write the values out, one mapping per instrument",
                line=line_of(event),
            )
