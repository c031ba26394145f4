"""Annotations of parameters: types that no JSON fits, and the input schema of a workflow."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from tenuto.definition.schemas import schema_problems
from tenuto.model.json import JSON, Object
from tenuto.tasks import hints, type_schemas
from tenuto.tasks.function import TaskFunction

_ABSTRACT = frozenset({"typing", "typing_extensions", "collections.abc", "abc", "builtins"})
_NOT_JSON: tuple[type, ...] = (set, frozenset, bytes, bytearray, complex, memoryview)


def unbindable(task: TaskFunction[..., Any]) -> Iterator[tuple[str, str]]:
    """Each such parameter with its type.

    Only plain classes are checked: an abstract, generic or undefined type may fit.
    """
    for parameter in task.binding.data.parameters.values():
        if parameter.kind in {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}:
            continue
        for leaf in hints.leaves(parameter.annotation):
            if isinstance(leaf, type) and not _may_fit(leaf):
                yield (
                    parameter.name,
                    f"`{leaf.__module__}.{leaf.__qualname__}`".replace("`builtins.", "`"),
                )


def _may_fit(leaf: type) -> bool:
    if leaf in _NOT_JSON:
        return False
    is_open = inspect.isabstract(leaf) or getattr(leaf, "_is_protocol", False)
    return hints.is_json_or_convertible(leaf) or is_open or leaf.__module__ in _ABSTRACT


def input_schema(data: inspect.Signature, *, takes_payloads: bool = False) -> Object | None:
    """The schema, None if any input fits: one parameter is the whole input, several its parts.

    `takes_payloads`: whether payloads of events are its input as they are.
    """
    parameters = list(data.parameters.values())
    schemas, shared = _schemas(parameters)
    whole: Object
    if len(parameters) > 1:
        required: list[JSON] = [each.name for each in parameters if each.default is each.empty]
        properties: Object = {each.name: schemas.get(each.name, {}) for each in parameters}
        whole = {"type": "object", "required": required, "properties": properties}
        # A payload has fields for others too; and where types are missing, nothing is promised.
        if len(schemas) == len(parameters) and not takes_payloads:
            whole["additionalProperties"] = False
    else:
        whole = next(iter(schemas.values()), {})
    return (whole | {"$defs": shared} if shared else whole) or None


def _schemas(parameters: list[inspect.Parameter]) -> tuple[dict[str, Object], Object]:
    """The schemas of parameters by name, and their shared definitions."""
    # Each alone first: a type without a schema does not hide those of the others.
    known = [each for each in parameters if type_schemas.schemas([each.annotation])]
    found = type_schemas.schemas([each.annotation for each in known])
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
