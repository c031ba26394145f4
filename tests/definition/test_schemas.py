"""Schemas are checked when a definition is, inputs when an instance starts; nothing is fetched."""

from __future__ import annotations

import socket

import pytest

from tenuto.definition import check, compile_definition, input_problems, schemas
from tenuto.model.graph import Definition
from tests.definition.values import Value

STEPS: Value = [{"stepId": "a", "type": "TASK", "taskId": "t"}]


def definition_with(schema: Value) -> Definition:
    return compile_definition({"inputSchema": schema, "steps": STEPS})


def found(schema: Value) -> list[tuple[str, str]]:
    problems = check({"inputSchema": schema, "steps": STEPS}).problems
    return [(each.code, each.path) for each in problems]


def test_every_violation_is_reported_with_its_place() -> None:
    definition = definition_with(
        {
            "type": "object",
            "required": ["orderId", "customer"],
            "properties": {"items": {"items": {"type": "object", "required": ["sku"]}}},
            "additionalProperties": False,
        }
    )
    problems = input_problems(definition, {"items": [{}, 5], "odd": 1})
    assert [(each.code, each.path) for each in problems] == [
        ("TEN-2101", "$"),
        ("TEN-2101", "$"),
        ("TEN-2101", "$.items[0]"),
        ("TEN-2101", "$.items[1]"),
        ("TEN-2101", "$"),
    ]
    assert all(each.message and each.advice for each in problems)


def test_a_wrong_value_is_reported_where_it_is() -> None:
    definition = definition_with({"properties": {"orderId": {"type": "string"}}})
    [problem] = input_problems(definition, {"orderId": 7})
    assert problem.path == "$.orderId"


def test_input_that_fits_has_no_problems() -> None:
    assert input_problems(definition_with({"type": "object"}), {}) == ()
    assert input_problems(compile_definition({"steps": STEPS}), [1]) == ()
    assert input_problems(definition_with(True), None) == ()
    assert len(input_problems(definition_with(False), {})) == 1


def test_the_compiled_schema_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = definition_with({"type": "object"})
    input_problems(definition, {})

    monkeypatch.setattr(schemas, "_compile", _fail)
    assert input_problems(definition, {}) == ()
    assert len(input_problems(definition, 3)) == 1


def test_a_schema_that_takes_long_to_compile_is_not_compiled_where_others_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patterns: Value = {f"^field-{n}-[a-z]+$": {"type": "string"} for n in range(100)}
    document: Value = {"inputSchema": {"patternProperties": patterns}, "steps": STEPS}
    with monkeypatch.context() as patched:
        patched.setattr(schemas, "_compile", _fail)
        definition = compile_definition(document, is_saved=True)
        assert schemas.quick_input_problems(definition, {"field-7-a": 1}) is None
    assert len(input_problems(definition, {"field-7-a": 1})) == 1
    assert len(schemas.quick_input_problems(definition, {"field-7-a": 1}) or ()) == 1


def _fail(*_: object) -> None:
    raise AssertionError


@pytest.mark.parametrize(
    ("schema", "at"),
    [
        ({"$ref": "https://example.org/s.json"}, ".$ref"),
        ({"$ref": "file:///etc/passwd"}, ".$ref"),
        ({"properties": {"a": {"$ref": "other.json#/x"}}}, ".properties.a.$ref"),
        ({"$schema": "https://example.org/own"}, ".$schema"),
    ],
)
def test_a_schema_that_lies_elsewhere_is_refused_and_never_fetched(
    schema: Value, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert found(schema) == [("TEN-1061", f"$.inputSchema{at}")]


def test_a_schema_may_refer_to_itself() -> None:
    schema = {"$defs": {"id": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/id"}}}
    assert found(schema) == []
    assert len(input_problems(definition_with(schema), {"a": 1})) == 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"properties": []},
        {"required": "a"},
        {"pattern": "("},
        {"$ref": "#/nowhere"},
        {"minimum": "1"},
    ],
)
def test_a_schema_that_is_none_is_refused(schema: Value) -> None:
    assert [code for code, _ in found(schema)] == ["TEN-1060"]


@pytest.mark.parametrize("schema", [None, 5, "object", []])
def test_a_schema_is_an_object(schema: Value) -> None:
    assert found(schema) == [("TEN-1010", "$.inputSchema")]


def test_a_pattern_that_backtracks_forever_is_cut_off() -> None:
    definition = definition_with({"properties": {"a": {"pattern": "^(a+)+(?=b)$"}}})
    assert len(input_problems(definition, {"a": "a" * 5000})) == 1
