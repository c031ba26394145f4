"""Reads `compensationSteps`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import cast

from tenuto.definition.expressions import (
    SECRETS,
    check_expression,
    check_template,
    expression_names_root,
    is_templated,
    note_references,
    refuse_secret,
)
from tenuto.definition.fields import Field, Fields, is_array, is_object
from tenuto.definition.language_kinds import Expression
from tenuto.definition.plain_kinds import Id, OneOf, TaskId, Text
from tenuto.definition.report import Place
from tenuto.definition.settings import RETRY, TIMEOUT
from tenuto.expr import compile_expression, is_rooted_path
from tenuto.model.graph import CompensationStep
from tenuto.model.json import JSON, Object, kind_of
from tenuto.model.secret_place import ROOT


class CompensationInput:
    """One expression, or an object in which templates and paths are resolved."""

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, str) and not is_templated(value):
            if check_expression(value, place.seeing(SECRETS)) and (
                expression_names_root(value, ROOT)
            ):
                refuse_secret(place)
        elif isinstance(value, dict | str):
            check_template(value, place.seeing(SECRETS), has_paths=True)
            _note_paths(value, place)
        else:
            place.wrong("TEN-1010", f"expected an object or an expression, found {kind_of(value)}")
        return value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"type": ["object", "string"]}


_make: Callable[..., CompensationStep] = CompensationStep
_STEP = Fields(
    Field("stepId", "step_id", Id(), required=True),
    Field("compensationFor", "compensation_for", Text(), required=True),
    Field("type", "type", OneOf("TASK", "task")),
    Field("taskId", "task_id", TaskId(), required=True),
    Field("input", "input", CompensationInput(), presence="has_input"),
    Field("condition", "condition", Expression()),
    Field("retry", "retry", RETRY),
    Field("timeout", "timeout", TIMEOUT),
)


def read_compensation(
    value: JSON, nodes: Collection[str], place: Place
) -> tuple[CompensationStep, ...]:
    """The compensation steps."""
    if not is_array(value, place):
        return ()
    steps: list[CompensationStep] = []
    names = set(nodes)
    compensated: set[str] = set()
    for index, step in enumerate(value):
        there = place.at(index)
        if not is_object(step, there):
            continue
        undone = step.get("compensationFor")
        seen = there.of_step(undone, sees_later=True) if isinstance(undone, str) else there
        found = _STEP.read(step, seen)
        if found is None:
            continue
        made = _make(**found)
        if made.step_id in names:
            there.at("stepId").wrong("TEN-1021", f"`{made.step_id}` is the id of another step")
        names.add(made.step_id)
        _check_undone(made.compensation_for, nodes, compensated, there.at("compensationFor"))
        steps.append(made)
    return tuple(steps)


def compensation_schema() -> Object:
    """The JSON Schema of the list."""
    return {"type": "array", "items": _STEP.schema()}


def write_compensation(steps: Iterable[CompensationStep]) -> list[JSON]:
    """The document's list of them."""
    return [_STEP.write(step) for step in steps]


def _note_paths(value: JSON, place: Place) -> None:
    """Note the strings that are all path, which stand for the values there."""
    if isinstance(value, str):
        if not is_templated(value) and is_rooted_path(value):
            note_references(compile_expression(value), place)
    elif isinstance(value, dict):
        for name, each in value.items():
            _note_paths(each, place.at(name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _note_paths(each, place.at(index))


def _check_undone(undone: str, nodes: Collection[str], compensated: set[str], place: Place) -> None:
    if undone not in nodes:
        advice = place.did_you_mean(undone, nodes, "Name a step of this definition.")
        place.wrong("TEN-1062", f"there is no step `{undone}` to compensate", advice)
    elif undone in compensated:
        place.wrong("TEN-1062", f"`{undone}` is compensated by an earlier compensation step")
    compensated.add(undone)
