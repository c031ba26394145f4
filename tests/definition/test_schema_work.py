"""Tests that the work of a JSON Schema is bounded in steps, before anything is evaluated."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import jsonschema_rs
import pytest
from hypothesis import given, settings, strategies as st

from tenuto.definition import check, compile_definition, input_problems
from tenuto.definition.report import MOST_PROBLEMS
from tenuto.definition.schema_nodes import SchemaTooCostly
from tenuto.definition.schema_work import MOST_STEPS, SchemaWork
from tenuto.definition.schemas import check_task_input, schema_problems
from tenuto.model.json import JSON, Object
from tests.bombs.bomb import Bomb
from tests.bombs.schemas import SCHEMAS, Case
from tests.kit.breadth import breadth

_CORPUS = """
from tests.bombs.schemas import SCHEMAS
from tenuto.definition.schemas import check_task_output, schema_problems
for bomb in SCHEMAS:
    case = bomb.make()
    saved = schema_problems(case.schema)
    found = check_task_output(case.schema, case.value).problems
    print(bomb.name, *{each.code for each in (*saved, *found)} or {"fits"})
"""

REFUSED_AT_SAVE = {
    "allOf-20",
    "allOf-40",
    "anyOf-20",
    "anyOf-40",
    "oneOf-20",
    "oneOf-40",
    "dependent-schemas",
    "if-then-else",
    "cycle-of-itself",
    "cycle-of-two",
    "unevaluated-properties",
    "unevaluated-items",
    "unevaluated-doubling",
    "enum-of-large-items",
    "large-patterns",
}


@pytest.mark.slow
def test_every_schema_bomb_ends() -> None:
    """They run in a process of their own: nothing else could end one that hangs."""
    command = [sys.executable, "-c", _CORPUS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=True)
    answered = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert answered.keys() == {bomb.name for bomb in SCHEMAS}
    assert {name for name, codes in answered.items() if "TEN-1063" in codes} == REFUSED_AT_SAVE


@pytest.mark.parametrize("bomb", SCHEMAS, ids=[bomb.name for bomb in SCHEMAS])
def test_a_schema_bomb_is_refused_or_within_its_steps(bomb: Bomb[Case]) -> None:
    case = bomb.make()
    if bomb.name in REFUSED_AT_SAVE:
        with pytest.raises(SchemaTooCostly):
            SchemaWork(case.schema)
        return
    work = SchemaWork(case.schema)
    with suppress(SchemaTooCostly):
        assert work.of(case.value).steps <= MOST_STEPS


def _workflow(schema: JSON) -> Object:
    return {"inputSchema": schema, "steps": [{"stepId": "a", "type": "TASK", "taskId": "t"}]}


def _doubling(levels: int) -> Object:
    return next(bomb for bomb in SCHEMAS if bomb.name == f"allOf-{levels}").make().schema


def test_a_costly_schema_is_refused_at_save_with_its_place_and_reason() -> None:
    [problem] = check(_workflow(_doubling(40))).problems
    assert problem.code == "TEN-1063"
    assert problem.path.startswith("$.inputSchema.$defs.a")
    assert "more than 100,000" in problem.message


def test_a_costly_schema_that_was_saved_before_stays_and_refuses_every_value() -> None:
    definition = compile_definition(_workflow(_doubling(40)), is_saved=True)
    [problem] = input_problems(definition, 1)
    assert problem.code == "TEN-2114"
    [again] = check_task_input(_doubling(40), 1).problems
    assert again.code == "TEN-2114"


def test_problems_are_counted_up_to_those_shown() -> None:
    definition = compile_definition(_workflow({"items": {"type": "integer"}}))
    assert len(input_problems(definition, ["x"] * 1_500)) == MOST_PROBLEMS
    first, rest = input_problems(definition, ["x"] * 20_000)
    assert first.path == "$[0]"
    assert "at least one" in rest.message


def test_a_long_name_is_shown_in_part() -> None:
    definition = compile_definition(_workflow({"additionalProperties": {"type": "integer"}}))
    [problem] = input_problems(definition, {"k" * 5_000: "x"})
    assert len(problem.path) < 300


ORDINARY: dict[str, tuple[JSON, JSON]] = {
    "rows": (
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {f"c{n}": {"type": ["string", "null"]} for n in range(20)},
                "required": ["c0"],
                "additionalProperties": False,
            },
        },
        [{f"c{n}": "text" for n in range(20)}] * 4_000,
    ),
    "union of 30 kinds": (
        {
            "items": {
                "oneOf": [
                    {"properties": {"kind": {"const": n}, "value": {"type": "integer"}}}
                    for n in range(30)
                ]
            }
        },
        [{"kind": 7, "value": 1}] * 400,
    ),
    "tree": (
        {"properties": {"children": {"items": {"$ref": "#"}}, "name": {"type": "string"}}},
        {"children": [{"children": [{"name": "leaf"}] * 100}] * 100},
    ),
    "patterns": (
        {"items": {"pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"}},
        ["12345678-1234-1234-1234-123456789abc"] * 20_000,
    ),
    "looking ahead": ({"pattern": r"^(?=.*[A-Z])(?=.*\d).{8,}$"}, "Abcdefg1"),
    "codes": ({"items": {"enum": [f"code-{n}" for n in range(5_000)]}}, ["code-7"] * 50_000),
    "numbers": ({"items": {"type": "integer"}}, [1] * 480_000),
    "meta-schema": ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"type": "object"}),
    "anchors": ({"$ref": "#here", "$defs": {"x": {"$anchor": "here"}}}, 1),
    "ids": (
        {
            "$id": "https://example.com/whole",
            "items": {"$ref": "part#/$defs/n"},
            "$defs": {"p": {"$id": "part", "$defs": {"n": {"type": "integer"}}}},
        },
        [1],
    ),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_schemas_and_values_are_within_the_bounds(name: str) -> None:
    schema, value = ORDINARY[name]
    definition = compile_definition(_workflow(schema))
    assert input_problems(definition, value) == ()


def test_the_problems_of_a_declared_output_schema_say_where() -> None:
    [problem] = schema_problems({"$ref": "#"}, "$.outputSchema")
    assert (problem.code, problem.path) == ("TEN-1063", "$.outputSchema")


_VALUES = st.recursive(
    st.integers() | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
    ),
    max_leaves=12,
)


@st.composite
def _schemas(draw: st.DrawFn) -> Object:
    """Schemas of some levels, where a level applies those after it, and any one to children."""
    levels = draw(st.integers(2, 5))
    defs: Object = {}
    for level in range(levels):
        below = [f"#/$defs/a{n}" for n in range(level + 1, levels)]
        every = [f"#/$defs/a{n}" for n in range(levels)]
        schema: Object = {"counted": True}
        for _ in range(draw(st.integers(0, 3))):
            keyword = draw(st.sampled_from([*_IN_PLACE, *_OF_CHILDREN]))
            choices = below if keyword in _IN_PLACE else every
            if not choices:
                continue
            picked: list[JSON] = [
                {"$ref": draw(st.sampled_from(choices)), "counted": True}
                for _ in range(draw(st.integers(1, 2)))
            ]
            if keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
                schema[keyword] = picked
            elif keyword in ("properties", "dependentSchemas"):
                schema[keyword] = dict(zip("xy", picked, strict=False))
            elif keyword == "patternProperties":
                schema[keyword] = dict(zip(("^x", "."), picked, strict=False))
            else:
                schema[keyword] = picked[0]
        defs[f"a{level}"] = schema
    return {"$ref": "#/$defs/a0", "counted": True, "$defs": defs}


_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
_OF_CHILDREN = (
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "prefixItems",
    "items",
    "unevaluatedItems",
    "contains",
)


@pytest.mark.slow
@settings(max_examples=breadth(60, 1000), deadline=None)
@given(_schemas(), _VALUES)
def test_the_bound_is_at_least_what_is_applied(schema: Object, value: JSON) -> None:
    """A keyword of the test counts each application of a schema to a value."""
    applied = 0

    class Counted:
        def __init__(self, parent_schema: object, value: object, schema_path: object) -> None:
            pass

        def validate(self, instance: object) -> None:
            nonlocal applied
            applied += 1

    try:
        bound = SchemaWork(schema).of(value).steps
    except SchemaTooCostly:
        return
    validator = jsonschema_rs.validator_for(schema, offline=True, keywords={"counted": Counted})
    validator.is_valid(value)
    assert applied <= bound
