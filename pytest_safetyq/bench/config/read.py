"""A YAML tree read as one of the types of `model`, with an exact error for every mistake."""

import functools
import math
import re
import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import yaml

from pytest_safetyq.bench.config.errors import quoted, suggestion
from pytest_safetyq.bench.config.place import Place
from pytest_safetyq.bench.config.rules import Rule

_PLAIN = {
    bool: Rule(what="true or false", example="true"),
    int: Rule(what="a whole number", example="3"),
    float: Rule(what="a number", example="0.5"),
    str: Rule(what="text", example='"text"'),
}
_LIST = Rule(what="a list", example="[1, 2]")
_MAPPING = Rule(what="a mapping", example="key: value")


def read(place: Place, kind: Any) -> Any:
    """Return the value at ``place`` as an instance of ``kind``.

    Args:
        place: Where the value stands.
        kind: A struct, a tuple, a dict, a scalar type, a ``Literal``, a union of those that
            YAML's own kinds of nodes tell apart, any of them ``Annotated`` with a `Rule`.

    Raises:
        BenchFileError: The value is not right; nothing wrong is ever passed over.
    """
    kind, rule = unwrapped(kind)
    if is_union(kind):
        kind, rule = _member(place, kind, rule)
    if kind is type(None):
        return None
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct(place, kind)
    reader = _READERS.get(get_origin(kind) or kind, _scalar)
    return reader(place, kind, rule)


def unwrapped(kind: Any) -> tuple[Any, Rule | None]:
    """Return the type inside ``Annotated`` and its `Rule`."""
    if get_origin(kind) is not Annotated:
        return kind, None
    inner, rule = get_args(kind)
    return inner, rule


def is_union(kind: Any) -> bool:
    """Return whether ``kind`` is a union, in either spelling."""
    return get_origin(kind) in (Union, types.UnionType)


@functools.cache
def field_types(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the types of a struct's fields, rules included, in their order."""
    return get_type_hints(struct, include_extras=True)


def _member(place: Place, union: Any, rule: Rule | None) -> tuple[Any, Rule | None]:
    """Choose the member of a union by what stands there: a scalar, a list or a mapping."""
    members = [unwrapped(member) for member in get_args(union)]
    is_null = isinstance(place.node, yaml.ScalarNode) and place.scalar() is None
    for kind, own_rule in members:
        if (kind is type(None)) == is_null and isinstance(place.node, _node_type(kind)):
            return kind, own_rule or rule
    # The first member is the one that a wrong value was most likely meant to be.
    return members[0]


def _node_type(kind: Any) -> type[yaml.Node]:
    if get_origin(kind) is tuple:
        return yaml.SequenceNode
    if get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return yaml.MappingNode
    return yaml.ScalarNode


def _struct(place: Place, struct: type[msgspec.Struct]) -> msgspec.Struct:
    from_text: Callable[[str], msgspec.Struct] | None = getattr(struct, "from_text", None)
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    if from_text is not None and isinstance(place.node, yaml.ScalarNode):
        first = next(iter(fields))
        return from_text(read(place, field_types(struct)[first]))
    _expect(place, yaml.MappingNode, _MAPPING, f"with {', '.join(fields)}")
    entries = place.entries()
    for name, entry in entries.items():
        if name not in fields:
            raise entry.error(f"unknown key {quoted(name)}", suggestion(name, fields))
    for name, field in fields.items():
        if field.required and name not in entries:
            rule = unwrapped(field_types(struct)[name])[1] or _MAPPING
            raise place.error(f"{quoted(name)} is missing", rule.remedy)
    values = {name: read(entry, field_types(struct)[name]) for name, entry in entries.items()}
    try:
        return struct(**values)
    except ValueError as error:
        problem, _, remedy = str(error).partition("; ")
        raise place.error(problem, remedy) from error


def _mapping(place: Place, kind: Any, rule: Rule | None) -> dict[str, Any]:
    _expect(place, yaml.MappingNode, rule or _MAPPING)
    key_kind, value_kind = get_args(kind)
    entries = place.entries()
    _expect_items(place, len(entries), rule)
    _, key_rule = unwrapped(key_kind)
    for name, entry in entries.items():
        if key_rule is not None and not _matches(key_rule, name):
            raise entry.error(f"{quoted(name)} is not a right key", key_rule.remedy)
    return {name: read(entry, value_kind) for name, entry in entries.items()}


def _sequence(place: Place, kind: Any, rule: Rule | None) -> tuple[Any, ...]:
    _expect(place, yaml.SequenceNode, rule or _LIST)
    items = place.items()
    _expect_items(place, len(items), rule)
    kinds = get_args(kind)
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(items)
    if len(kinds) != len(items):
        raise place.error(f"has {len(items)} entries", f"write {len(kinds)} of them")
    return tuple(read(item, of) for item, of in zip(items, kinds, strict=True))


def _literal(place: Place, kind: Any, _rule: Rule | None) -> str:
    words: tuple[str, ...] = get_args(kind)
    if isinstance(place.node, yaml.ScalarNode) and place.scalar() in words:
        return str(place.node.value)
    word = str(place.node.value) if isinstance(place.node, yaml.ScalarNode) else ""
    raise place.error(f"{place.shown()} is not known here", suggestion(word, words))


def _scalar(place: Place, kind: Any, rule: Rule | None) -> Any:
    rule = rule or _PLAIN[kind]
    wrong = place.error(f"{place.shown()} is not {_PLAIN[kind].what}", rule.remedy)
    if not isinstance(place.node, yaml.ScalarNode):
        raise wrong
    value = place.scalar()
    if kind is str and rule.as_written and value is not None:
        value = str(place.node.value)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise wrong
    if isinstance(value, str):
        _check_text(place, value, rule)
    elif isinstance(value, int | float):
        _check_number(place, value, rule)
    return value


def _check_text(place: Place, value: str, rule: Rule) -> None:
    if not _matches(rule, value):
        raise place.error(f"{place.shown()} is not right", rule.remedy)
    if rule.check is not None:
        try:
            rule.check(value)
        except ValueError as error:
            raise place.error(str(error), rule.remedy) from error


def _check_number(place: Place, value: float, rule: Rule) -> None:
    if not math.isfinite(value):
        raise place.error(f"{place.shown()} is not finite", rule.remedy)
    if rule.above is not None and value <= rule.above:
        raise place.error(f"{place.shown()} is not above {rule.above:g}", rule.remedy)
    if rule.least is not None and value < rule.least:
        raise place.error(f"{place.shown()} is below {rule.least:g}", rule.remedy)
    if rule.most is not None and value > rule.most:
        raise place.error(f"{place.shown()} is above {rule.most:g}", rule.remedy)


def _matches(rule: Rule, text: str) -> bool:
    return rule.pattern is None or re.fullmatch(rule.pattern, text) is not None


def _expect(place: Place, node: type[yaml.Node], rule: Rule, more: str = "") -> None:
    if not isinstance(place.node, node):
        noun = _MAPPING.what if node is yaml.MappingNode else _LIST.what
        remedy = f"write {noun} {more}" if more else rule.remedy
        raise place.error(f"{place.shown()} is not {noun}", remedy)
    if not place.node.tag.startswith("tag:yaml.org,2002:"):
        raise place.error(f"the tag {quoted(place.node.tag)} is not supported", "leave it out")


def _expect_items(place: Place, count: int, rule: Rule | None) -> None:
    if rule is not None and count < rule.min_items:
        raise place.error("is empty", rule.remedy)


_READERS: dict[Any, Callable[[Place, Any, Rule | None], Any]] = {
    dict: _mapping,
    tuple: _sequence,
    Literal: _literal,
}
