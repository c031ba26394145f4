"""JSON Schemas: whether they are well formed, and whether values conform."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias, cast

import jsonschema_rs
from jsonschema_rs import FancyRegexOptions, ValidationError, Validator

from tenuto.definition.fields import UNUSABLE
from tenuto.definition.report import Place, Report
from tenuto.model.errors import Problem
from tenuto.model.graph import Definition
from tenuto.model.json import JSON, Object, kind_of

SchemaJSON: TypeAlias = Object | bool

_MOST_VALIDATORS = 1000
_LONGEST_MESSAGE = 300
_MOST_OF_A_TASK = 10
"""The most problems of a task's value that are recorded in the log."""
_REGEX = FancyRegexOptions(backtrack_limit=100_000)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef", "$schema")
_ELSEWHERE = "not present in a registry"


class Schema:
    """A kind: a JSON Schema that needs no other document."""

    def read(self, value: JSON, place: Place) -> object:
        if not isinstance(value, dict | bool):
            place.wrong("TEN-1010", f"expected a schema, found {kind_of(value)}")
            return UNUSABLE
        try:
            _compile(value)
        except ValidationError as error:
            if _ELSEWHERE in error.message or "Unknown meta-schema" in error.message:
                _refuse_references(value, error, place)
            else:
                there = _inside(place, error.instance_path)
                there.wrong("TEN-1060", f"not a JSON Schema: {_short(error.message)}")
            return UNUSABLE
        except ValueError as error:
            place.wrong("TEN-1060", f"not a JSON Schema: {_short(str(error))}")
            return UNUSABLE
        return value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)


def is_schema(value: Object) -> bool:
    """Whether a value is a JSON Schema that needs no other document."""
    report = Report()
    return Schema().read(value, Place("$", report)) is not UNUSABLE


def input_problems(definition: Definition, value: JSON) -> tuple[Problem, ...]:
    """All problems of an input by the definition's `inputSchema`."""
    return _problems(definition.input_schema, value, _INPUT)


def form_problems(schema: JSON, value: JSON) -> tuple[Problem, ...]:
    """All problems of the form of a decision by the approval's `formSchema`."""
    return _problems(schema, value, _FORM)


def given_problems(schema: JSON, value: JSON) -> tuple[Problem, ...]:
    """All problems of a task's input by its `inputSchema`."""
    return _problems(schema, value, _GIVEN)


def task_input_problems(schema: JSON, value: JSON) -> tuple[Problem, ...]:
    """The first problems of a step's input by its task's `inputSchema`."""
    return _problems(schema, value, _TASK_INPUT, most=_MOST_OF_A_TASK)


def task_output_problems(schema: JSON, value: JSON) -> tuple[Problem, ...]:
    """The first problems of a step's output by its task's `outputSchema`."""
    return _problems(schema, value, _TASK_OUTPUT, most=_MOST_OF_A_TASK)


class _Checked(NamedTuple):
    """A kind of checked value: its name, its path, the code of its problems, its schema's field."""

    name: str
    path: str
    code: str
    field: str


_INPUT = _Checked("input", "$", "TEN-2101", "inputSchema")
_GIVEN = _Checked("input", "$.input", "TEN-2101", "inputSchema")
_FORM = _Checked("form", "$.form", "TEN-2110", "formSchema")
_TASK_INPUT = _Checked("input", "$", "TEN-2112", "inputSchema")
_TASK_OUTPUT = _Checked("output", "$", "TEN-2113", "outputSchema")


def _problems(
    schema: JSON, value: JSON, what: _Checked, most: int | None = None
) -> tuple[Problem, ...]:
    if schema is None:
        return ()
    report = Report()
    root = Place(what.path, report)
    try:
        errors = _validator(cast("SchemaJSON", schema)).iter_errors(value)
        for error in islice(errors, most):
            there = _inside(root, error.instance_path)
            there.wrong(what.code, _short(error.message), _advice(error, what))
    except ValueError as error:
        root.wrong(what.code, f"the {what.name} cannot be checked: {_short(str(error))}")
    return report.problems


def _validator(schema: SchemaJSON) -> Validator:
    """The compiled schema, from a cache of the last used ones."""
    key = id(schema)
    kept = _VALIDATORS.get(key)
    if kept is not None and kept[0] is schema:
        _VALIDATORS.move_to_end(key)
        return kept[1]
    validator = _compile(schema)
    # The schema is kept beside its validator, so that no other object can get its identity.
    _VALIDATORS[key] = (schema, validator)
    if len(_VALIDATORS) > _MOST_VALIDATORS:
        _VALIDATORS.popitem(last=False)
    return validator


def _compile(schema: SchemaJSON) -> Validator:
    return jsonschema_rs.validator_for(schema, offline=True, pattern_options=_REGEX)


def _refuse_references(schema: SchemaJSON, error: ValidationError, place: Place) -> None:
    """Report each reference to another document; at the schema as a whole if none is found."""
    found = False
    for keys, target in _references(schema):
        if not target.startswith("#"):
            _inside(place, keys).wrong("TEN-1061", f"`{target}` is not in this document")
            found = True
    if not found:
        place.wrong("TEN-1061", _short(error.message))


def _references(schema: JSON) -> Iterator[tuple[Sequence[str | int], str]]:
    todo: list[tuple[tuple[str | int, ...], JSON]] = [((), schema)]
    while todo:
        keys, value = todo.pop()
        if isinstance(value, dict):
            for name, inner in value.items():
                if name in _REFERENCES and isinstance(inner, str):
                    if name != "$schema" or "json-schema.org" not in inner:
                        yield (*keys, name), inner
                else:
                    todo.append(((*keys, name), inner))
        elif isinstance(value, list):
            todo.extend(((*keys, index), inner) for index, inner in enumerate(value))


def _inside(place: Place, keys: Sequence[str | int]) -> Place:
    for key in keys:
        place = place.at(key)
    return place


def _advice(error: ValidationError, what: _Checked) -> str:
    match error.kind.name:
        case "required":
            return f"Add the property to the {what.name}."
        case "additionalProperties" | "unevaluatedProperties":
            return f"Remove the property from the {what.name}, or correct its name."
        case "type":
            return "Send a value of the expected type."
        case _:
            return f"Correct the value, or the definition's `{what.field}`."


def _short(message: str) -> str:
    message = message.splitlines()[0] if message else "refused"
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 3] + "..."


_VALIDATORS: OrderedDict[int, tuple[SchemaJSON, Validator]] = OrderedDict()
