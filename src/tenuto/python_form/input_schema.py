"""What the parameters of a workflow function ask of its input: the schema that starts are held to.

It asks for what their annotations would convert: whoever passes such a value on to a task learns at
the start that it does not fit, not from the task.
"""

from __future__ import annotations

import inspect

from tenuto.definition.schemas import is_schema
from tenuto.model.json import JSON, Object
from tenuto.tasks import hints


def input_schema(data: inspect.Signature) -> Object | None:
    """The schema, or None where anything fits: one parameter is the whole input, several parts."""
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
    """What is asked of parameters by name, and what these schemas share."""
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
    """A parameter with a default may be left out, and null stands for that."""
    return {"anyOf": [schema, {"type": "null"}]}
