"""Input schemas of functions, made from the types of their parameters.

One parameter is the whole input, several are its parts. A workflow takes what the types say; a task
takes whatever it can be called with, so that nothing is refused that the function can work on.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from tenuto.definition.schemas import schema_problems
from tenuto.model.json import JSON, Object
from tenuto.tasks import type_schemas


def workflow_input(data: inspect.Signature, *, takes_payloads: bool = False) -> Object | None:
    """The schema, None if any input fits.

    `takes_payloads`: whether payloads of events are its input as they are.
    """
    parameters = list(data.parameters.values())
    schemas, shared = _schemas(parameters, is_closed=True)
    if len(parameters) > 1:
        # A payload has fields for others too; and where types are missing, nothing is promised.
        is_closed = len(schemas) == len(parameters) and not takes_payloads
        whole = _object(parameters, schemas, is_closed=is_closed)
    else:
        whole = next(iter(schemas.values()), {})
    return _with(shared, whole)


def task_input(data: inspect.Signature, *, may_leave_out: bool = False) -> Object | None:
    """The schema of what a task can be called with, None if that is anything.

    `may_leave_out`: whether the input may have members without a parameter.
    """
    kinds = [each.kind for each in data.parameters.values()]
    takes_any_name = inspect.Parameter.VAR_KEYWORD in kinds
    parameters = [each for each in data.parameters.values() if each.kind is not each.VAR_KEYWORD]
    schemas, shared = _schemas(parameters, is_closed=False)
    if len(parameters) == 1 and not takes_any_name:
        whole = next(iter(schemas.values()), {})
    elif parameters:
        is_closed = not (takes_any_name or may_leave_out)
        whole = _object(parameters, schemas, is_closed=is_closed)
        if not whole["required"]:
            # No input is an empty one.
            whole["type"] = ["object", "null"]
    else:
        whole = {}
    return _with(shared, whole)


def _object(
    parameters: Sequence[inspect.Parameter], schemas: dict[str, Object], *, is_closed: bool
) -> Object:
    required: list[JSON] = [each.name for each in parameters if each.default is each.empty]
    properties: Object = {each.name: schemas.get(each.name, {}) for each in parameters}
    whole: Object = {"type": "object", "required": required, "properties": properties}
    return whole | {"additionalProperties": False} if is_closed else whole


def _with(shared: Object, whole: Object) -> Object | None:
    return (whole | {"$defs": shared} if shared else whole) or None


def _schemas(
    parameters: list[inspect.Parameter], *, is_closed: bool
) -> tuple[dict[str, Object], Object]:
    """The schemas of parameters by name, and their shared definitions."""
    # Each alone first: a type without a schema does not hide those of the others.
    known = [
        each for each in parameters if type_schemas.schemas([each.annotation], is_closed=is_closed)
    ]
    found = type_schemas.schemas([each.annotation for each in known], is_closed=is_closed)
    if found is None:
        return {}, {}
    schemas, shared = found
    named = {
        each.name: schema if each.default is each.empty else _or_null(schema)
        for each, schema in zip(known, schemas, strict=True)
    }
    if schema_problems({"anyOf": [*named.values()], "$defs": shared}):
        return {}, {}
    return named, shared


def _or_null(schema: Object) -> Object:
    """A parameter with a default may be left out, or be null."""
    kind = schema.get("type")
    if isinstance(kind, str) and kind != "null" and "$ref" not in schema:
        return {**schema, "type": [kind, "null"]}
    if not schema:
        return schema
    options = schema.get("anyOf")
    if isinstance(options, list) and len(schema) == 1:
        return schema if _NULL in options else {"anyOf": [*options, _NULL]}
    return {"anyOf": [schema, _NULL]}


_NULL: Object = {"type": "null"}
