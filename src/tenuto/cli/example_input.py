"""A small example of an input, made from a JSON Schema."""

from __future__ import annotations

from typing import Final

from tenuto.model.json import JSON

_BY_TYPE: Final[dict[str, JSON]] = {
    "string": "text",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "null": None,
}
_BY_FORMAT: Final[dict[str, JSON]] = {
    "date": "2030-01-31",
    "date-time": "2030-01-31T12:00:00Z",
    "email": "a@example.com",
    "uri": "https://example.com",
}
_DEEPEST: Final = 5


def example_of(schema: JSON, depth: int = 0) -> JSON:
    """A value by the required fields and their types; whether the schema takes it is not sure."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return {}
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    for name in ("examples", "enum"):
        listed = schema.get(name)
        if isinstance(listed, list) and listed:
            return listed[0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        return _object(schema, depth)
    if kind == "array":
        least = schema.get("minItems", 0)
        count = least if isinstance(least, int) else 0
        return [example_of(schema.get("items"), depth + 1) for _ in range(min(count, 3))]
    if kind in ("integer", "number") and "minimum" in schema:
        return schema["minimum"]
    return _BY_FORMAT.get(str(schema.get("format")), _BY_TYPE.get(str(kind)))


def _object(schema: dict[str, JSON], depth: int) -> JSON:
    fields, required = schema.get("properties"), schema.get("required")
    if not isinstance(required, list):
        return {}
    known = fields if isinstance(fields, dict) else {}
    return {str(name): example_of(known.get(str(name)), depth + 1) for name in required}
