"""The input that a schema describes, in one line."""

from __future__ import annotations

from tenuto.definition.schemas import begun
from tenuto.model.json import JSON, Object, kind_of

_ANY = "any"
_OR_NULL = " | null"


def input_line(schema: Object | None) -> str:
    """`id: integer, note?: string`, or the type of the whole input."""
    if schema is None:
        return _ANY
    whole = begun(schema)
    parts, required = whole.get("properties"), whole.get("required")
    if not isinstance(parts, dict) or not parts:
        return _kind(schema)
    needed = required if isinstance(required, list) else []
    return ", ".join(
        f"{name}{_typed(part)}" if name in needed else f"{name}?{_typed(part, _OR_NULL)}"
        for name, part in parts.items()
    )


def _typed(part: JSON, without: str = "") -> str:
    kind = _kind(part)
    return "" if kind == _ANY else f": {kind.removesuffix(without)}"


def _kind(schema: JSON) -> str:
    if not isinstance(schema, dict):
        return _ANY
    match schema:
        case {"$ref": str(name)}:
            return name.rpartition("/")[2]
        case {"enum": [*values]}:
            return " | ".join(map(_value, values))
        case {"anyOf": [*options]} | {"oneOf": [*options]}:
            return " | ".join(dict.fromkeys(map(_kind, options)))
        case {"type": "array", "items": dict() as item} if item:
            return f"array of {_kind(item)}"
        case {"type": [*kinds]}:
            return " | ".join(_kind({**schema, "type": each}) for each in kinds)
        case {"type": str(name)}:
            return name
        case {"title": str(title)}:
            return title
        case _:
            return _ANY


def _value(value: JSON) -> str:
    return str(value) if isinstance(value, str | int | float) else kind_of(value)
