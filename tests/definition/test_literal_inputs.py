"""Literal inputs that a task does not take are told before anything runs."""

from __future__ import annotations

import pytest

from tenuto.definition import compile_definition
from tenuto.definition.literal_inputs import literal_input_problems
from tenuto.model.json import JSON, Object

PARTS: Object = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "note": {"type": ["string", "null"]}},
}
NAMED: Object = {**PARTS, "required": ["id"], "additionalProperties": False}
OPEN: Object = {"$ref": "#/$defs/Order", "$defs": {"Order": PARTS}}
EITHER: Object = {"anyOf": [PARTS, {"type": "null"}]}


def problems(schema: Object, given: JSON) -> list[tuple[str, str]]:
    step: Object = {"stepId": "a", "type": "TASK", "taskId": "charge", "input": given}
    definition = compile_definition({"id": "w", "steps": [step]})
    found = literal_input_problems(definition, {"charge": schema}.get)
    assert all((each.code, each.severity) == ("TEN-2112", "warning") for each in found)
    return [(each.path.removeprefix("$.steps[0].input"), each.advice) for each in found]


@pytest.mark.parametrize(
    ("schema", "given", "paths"),
    [
        (NAMED, {"id": 1}, []),
        (NAMED, {"id": "{{ctx.input.id}}", "note": None}, []),
        (NAMED, "{{ctx.input}}", []),
        (NAMED, {"id": "one"}, [".id"]),
        (NAMED, {"id": "{{ctx.input.id}}", "note": 5}, [".note"]),
        (NAMED, {"note": "{{ctx.input.note}}"}, [""]),
        (NAMED, ["{{ctx.input.id}}"], [""]),
        (NAMED, "text", [""]),
        (NAMED, {"id": 1, "nota": "{{ctx.input.note}}"}, [""]),
        (OPEN, {"id": 1, "other": 2}, []),
        (OPEN, {"id": 1, "nota": "hello"}, [".nota"]),
        (EITHER, {"id": "{{ctx.input.id}}"}, []),
        (EITHER, {"id": "one"}, [".id"]),
        (EITHER, "{{ctx.input}}", []),
        ({"type": "array", "items": {"type": "integer"}}, [1, "{{ctx.input.n}}", "x"], ["[2]"]),
    ],
)
def test_names_and_literals_are_checked_and_expressions_are_not(
    schema: Object, given: JSON, paths: list[str]
) -> None:
    assert [path for path, _ in problems(schema, given)] == paths


def test_a_misspelled_name_is_told_with_the_one_that_is_meant() -> None:
    for schema in (NAMED, OPEN):
        [(_, advice)] = problems(schema, {"id": 1, "nota": "hello"})
        assert advice.startswith("Did you mean `note`?")
