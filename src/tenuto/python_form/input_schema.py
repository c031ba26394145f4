"""The input schema of a workflow function, from the annotations of its parameters.

It accepts the values that can be converted to the annotated types, so that a wrong input is refused
at the start and not by a task.
"""

from __future__ import annotations

import inspect

from tenuto.definition.schemas import is_schema
from tenuto.model.json import JSON, Object
from tenuto.tasks import hints


def input_schema(data: inspect.Signature) -> Object | None:
    """The schema, None if any input fits: one parameter is the whole input, several its parts."""
    parameters = data.parameters.values()
    schemas, shared = _schemas(list(parameters))
    whole: Object
    if len(parameters) > 1:
        required: list[JSON] = [each.name for each in parameters if each.default is each.empty]
        whole = {"type": "object", "required": required}
        if schemas:
            whole["properties"] = {**schemas}
    elif schemas:
        [whole] = schemas.values()
    else:
        return None
    return whole | {"$defs": shared} if shared else whole


def _schemas(parameters: list[inspect.Parameter]) -> tuple[dict[str, Object], Object]:
    """The schemas of parameters by name, and their shared definitions."""
    asking = [each for each in parameters if hints.needs_conversion(each.annotation)]
    found = hints.schemas([each.annotation for each in asking])
    if found is None:
        return {}, {}
    schemas, shared = found
    named = {
        each.name: schema if each.default is each.empty else _or_null(schema)
        for each, schema in zip(asking, schemas, strict=True)
    }
    if not is_schema({"anyOf": [*named.values()], "$defs": shared}):
        return {}, {}
    return named, shared


def _or_null(schema: Object) -> Object:
    """A parameter with a default may be left out, or be null."""
    return {"anyOf": [schema, {"type": "null"}]}
