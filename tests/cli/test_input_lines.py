"""The input of a task in a list is one line that people can read."""

from __future__ import annotations

import pytest

from tenuto.cli.views.inputs import input_line
from tenuto.model.json import Object


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        (None, "any"),
        ({}, "any"),
        ({"type": "string"}, "string"),
        ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer | null"),
        ({"enum": ["a", 1]}, "a | 1"),
        ({"title": "Order"}, "Order"),
        (
            {
                "type": "object",
                "required": ["id", "order"],
                "properties": {
                    "id": {},
                    "order": {"$ref": "#/$defs/Order"},
                    "note": {"type": ["string", "null"]},
                },
            },
            "id, order: Order, note?: string",
        ),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"x": {"type": "number"}}}}},
            "x?: number",
        ),
    ],
)
def test_an_input_is_told_in_one_line(schema: Object | None, line: str) -> None:
    assert input_line(schema) == line
