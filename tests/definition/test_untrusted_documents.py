"""Whatever is sent, checking answers with problems and never with an exception."""

from __future__ import annotations

import copy
import random

import pytest
from hypothesis import given, settings, strategies as st

from tenuto.definition import Checked, check, to_graph_form
from tests.definition.documents import steps_documents
from tests.definition.faults import FAULTS, steps_document
from tests.definition.node_examples import EVERY, STEP_NAMES, as_graph, as_steps
from tests.definition.values import Value

WORDS = [
    *STEP_NAMES,
    *STEP_NAMES.values(),
    *("id", "type", "steps", "nodes", "edges", "config", "stepId", "transitions", "dependsOn"),
    *("default", "error", "loop", "done", "a", "s0", "s1", "{{", "{{ctx.a}}", "PT1S", "", "\0"),
    *("\ud800", "conditions", "onError", "to", "when", "handle", "codes", "source", "target"),
    *("retry", "joinMode", "atLeast", "inputSchema", "$ref", "options", "triggers", "branches"),
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=30,
)


def answers(document: Value) -> Checked:
    before = copy.deepcopy(document)
    checked = check(document)
    assert repr(document) == repr(before), "checking changes nothing"
    has_errors = any(each.severity == "error" for each in checked.problems)
    assert (checked.definition is None) == has_errors
    for problem in checked.problems:
        assert problem.path.startswith("$")
        assert problem.message
        assert problem.advice
    if checked.definition is not None:
        assert check(to_graph_form(checked.definition)).definition is not None
    return checked


@pytest.mark.slow
@given(VALUES)
def test_any_value_is_answered(document: Value) -> None:
    answers(document)


@pytest.mark.slow
@given(st.fixed_dictionaries({"steps": st.lists(VALUES, max_size=4)}))
def test_any_steps_are_answered(document: Value) -> None:
    answers(document)


@pytest.mark.slow
@given(
    st.fixed_dictionaries(
        {"nodes": st.lists(VALUES, max_size=4), "edges": st.lists(VALUES, max_size=4)}
    )
)
def test_any_graph_is_answered(document: Value) -> None:
    answers(document)


@pytest.mark.slow
@given(st.sampled_from(EVERY), st.data())
def test_any_value_in_any_field_is_answered(example: Value, data: st.DataObject) -> None:
    kind, own = example
    fields = dict(own)
    if fields:
        fields[data.draw(st.sampled_from(sorted(fields)))] = data.draw(VALUES)
    answers(as_steps(kind, fields))
    answers(as_graph(kind, fields))


@pytest.mark.slow
@settings(max_examples=50)
@given(steps_documents(), st.integers(0, 2**32))
def test_mutated_documents_are_answered(document: Value, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        document = copy.deepcopy(document)
        mutate(document, rng)
        answers(document)


@pytest.mark.parametrize("seed", range(30))
def test_spoiled_and_mutated_documents_are_answered(seed: int) -> None:
    rng = random.Random(seed)
    document = steps_document()
    for fault in rng.sample(FAULTS, 5):
        fault(document)
    for _ in range(20):
        mutate(document, rng)
        answers(document)


def mutate(document: Value, rng: random.Random) -> None:
    """Change, remove, copy or swap one value somewhere in a document."""
    places = list(containers(document))
    where, key = rng.choice(places) if places else (document, None)
    if key is None:
        return
    other, other_key = rng.choice(places)
    match rng.randrange(4):
        case 0:
            where[key] = rng.choice([None, True, -1, 1.5, [], {}, rng.choice(WORDS)])
        case 1:
            del where[key]
        case 2:
            where[key] = copy.deepcopy(other[other_key])
        case _ if isinstance(where, dict):
            where[rng.choice(WORDS)] = copy.deepcopy(other[other_key])
        case _:
            where.append(copy.deepcopy(where[key]))


def containers(value: Value) -> Value:
    """Every place in a document that holds a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from containers(inner)


@pytest.mark.parametrize(
    "value",
    [{1, 2}, (1, 2), b"x", {1: 2}, {None: 1}, 10**5000, -(10**5000), object()],
    ids=["set", "tuple", "bytes", "whole key", "no key", "huge", "hugely negative", "object"],
)
@pytest.mark.parametrize("field", ["name", "inputSchema", "steps", "options", "triggers"])
def test_python_values_that_are_no_json_are_answered(field: str, value: Value) -> None:
    document = {**steps_document(), field: value}
    assert "TEN-1003" in {each.code for each in check(document).problems}
    document = steps_document()
    document["steps"][3]["input"] = {"deep": [value]}
    assert "TEN-1003" in {each.code for each in check(document).problems}
