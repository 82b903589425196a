"""The JSON Schema of the bench file, made from the types, for editors that complete YAML."""

import json
from typing import Any, Literal, get_args, get_origin

import msgspec

from pytest_safetyq.bench.config.model import BenchConfig
from pytest_safetyq.bench.config.read import field_types, is_union, unwrapped
from pytest_safetyq.bench.config.rules import Rule

SCHEMA_FILE = "bench.schema.json"
"""The shipped schema, in this package's folder."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALARS: dict[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
}


def bench_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a bench file."""
    definitions: dict[str, Any] = {}
    root = _schema(BenchConfig, definitions)
    # What the reader checks across keys; the profile is filled in from the model later.
    definitions["InstrumentConfig"]["not"] = {"required": ["model", "profile"]}
    return {"$schema": _DIALECT, "title": "pytest-safetyq bench file", **root, "$defs": definitions}


def schema_text() -> str:
    """Return the text of the shipped schema file."""
    return json.dumps(bench_schema(), indent=2) + "\n"


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    kind, rule = unwrapped(kind)
    return {**_of_type(kind, rule, definitions), **_of_rule(kind, rule)}


def _of_type(kind: Any, rule: Rule | None, definitions: dict[str, Any]) -> dict[str, Any]:
    if rule is not None and rule.as_written:
        return {"type": ["string", "number", "boolean"]}
    if is_union(kind):
        return {"anyOf": [_schema(member, definitions) for member in get_args(kind)]}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct(kind, definitions)
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    return _of_generic(kind, definitions)


def _of_generic(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    arguments = get_args(kind)
    if get_origin(kind) is Literal:
        return {"enum": list(arguments)}
    if get_origin(kind) is tuple:
        return {"type": "array", **_items(arguments, definitions)}
    names, values = arguments
    return {
        "type": "object",
        "propertyNames": _schema(names, definitions),
        "additionalProperties": _schema(values, definitions),
    }


def _items(kinds: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if kinds[-1] is Ellipsis:
        return {"items": _schema(kinds[0], definitions)}
    return {
        "prefixItems": [_schema(kind, definitions) for kind in kinds],
        "minItems": len(kinds),
        "maxItems": len(kinds),
    }


def _struct(struct: type[msgspec.Struct], definitions: dict[str, Any]) -> dict[str, Any]:
    name = struct.__name__
    reference = {"$ref": f"#/$defs/{name}"}
    if name not in definitions:
        fields = msgspec.structs.fields(struct)
        kinds = field_types(struct)
        definitions[name] = {
            "type": "object",
            "properties": {f.name: _schema(kinds[f.name], definitions) for f in fields},
            "required": [f.name for f in fields if f.required],
            "additionalProperties": False,
        }
    return {"anyOf": [{"type": "string"}, reference]} if hasattr(struct, "from_text") else reference


def _of_rule(kind: Any, rule: Rule | None) -> dict[str, Any]:
    if rule is None:
        return {}
    bounds = {
        "minimum": rule.least,
        "exclusiveMinimum": rule.above,
        "maximum": rule.most,
        "pattern": f"^(?:{rule.pattern})$" if rule.pattern else None,
        "minProperties" if get_origin(kind) is dict else "minItems": rule.min_items or None,
    }
    return {
        "description": f"{rule.what}, such as {rule.example}",
        **{word: bound for word, bound in bounds.items() if bound is not None},
    }
