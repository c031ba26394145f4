"""The JSON Schema of the definition format, made of the tables by which definitions are read.

Editors complete and check with it. It accepts every valid definition. What concerns several parts
of a definition at once, such as the targets of edges, or the text of an expression, it cannot
express: the compiler checks that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from tenuto.definition.compensation import compensation_schema
from tenuto.definition.compiler import MOST_NODES, TOP
from tenuto.definition.event_triggers import cancellation_triggers_schema, triggers_schema
from tenuto.definition.fields import Fields
from tenuto.definition.graph_form import EDGE_FIELDS
from tenuto.definition.language_kinds import Variable
from tenuto.definition.nodes import TYPES, AnyNodeType
from tenuto.definition.plain_kinds import Id, Text
from tenuto.definition.settings import RETRY, JoinMode, readable_fields
from tenuto.definition.time_kinds import LENGTH
from tenuto.definition.transitions import Targets, transitions_schema
from tenuto.model.json import JSON, Object

DIALECT = "https://json-schema.org/draft/2020-12/schema"


_NO_TARGET: Object = {"const": []}
_FAILS_OR_LEADS_ON: Object = {
    "if": {
        "properties": {"errorHandling": {"const": "fail_workflow"}},
        "required": ["errorHandling"],
    },
    "then": {
        "properties": {"transitions": {"properties": {"error": _NO_TARGET, "onError": _NO_TARGET}}}
    },
}
"""An error that fails the workflow has no target."""


@cache
def definition_schema() -> Object:
    """The schema of a definition in any of its forms."""
    shape = TOP.schema()
    properties = shape["properties"]
    assert isinstance(properties, dict)
    lists: Object = {
        "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}, "maxItems": MOST_NODES},
        "nodes": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": MOST_NODES},
        "edges": {"type": "array", "items": {"$ref": "#/$defs/edge"}},
        "compensationSteps": compensation_schema(),
        "cancellationTriggers": cancellation_triggers_schema(),
        "triggers": triggers_schema(),
    }
    defs: Object = {
        "step": _by_type("stepId", "step"),
        "node": _by_type("id", "node"),
        "edge": _edge(),
    }
    for row in TYPES:
        defs[f"step-{row.tag}"] = _step(row)
        defs[f"node-{row.tag}"] = _node(row)
    whole: Object = {
        "$schema": DIALECT,
        "title": "Workflow definition of Tenuto",
        **shape,
        "properties": {**properties, **lists},
        "oneOf": [{"required": ["steps"]}, {"required": ["nodes"]}],
        "dependentSchemas": {
            "name": {"properties": {"title": False}},
            "options": {"properties": {"workflowOptions": False}},
        },
        "$defs": defs,
    }
    shared = _shared()
    referring = _referring(whole, {_text(each): name for name, each in shared.items()})
    assert isinstance(referring, dict)
    assert isinstance(referring["$defs"], dict)
    return {**referring, "$defs": {**shared, **referring["$defs"]}}


def _shared() -> Object:
    """What many fields have in common, by its name."""
    return {
        "duration": LENGTH,
        "id": Id().schema(),
        "variable": Variable().schema(),
        "joinMode": JoinMode().schema(),
        "retry": RETRY.schema(),
        "transitions": transitions_schema(),
        "failsOrLeadsOn": _FAILS_OR_LEADS_ON,
    }


def _referring(value: JSON, names: Mapping[bytes, str]) -> JSON:
    """The same schema, with references to what is shared."""
    if isinstance(value, list):
        return [_referring(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    name = names.get(_text(value))
    if name is not None:
        return {"$ref": f"#/$defs/{name}"}
    return {key: _referring(each, names) for key, each in value.items()}


def _text(value: JSON) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _by_type(id: str, form: str) -> Object:
    """A step or node: its `type` says which other fields it may have."""
    names: list[JSON] = [name for row in TYPES for name in _names(row)]
    chosen: list[JSON] = [
        {
            "if": {"properties": {"type": {"enum": _names(row)}}, "required": ["type"]},
            "then": {"$ref": f"#/$defs/{form}-{row.tag}"},
        }
        for row in TYPES
    ]
    return {
        "type": "object",
        "properties": {id: Id().schema(), "type": {"enum": names}},
        "required": [id, "type"],
        "allOf": chosen,
    }


def _names(row: AnyNodeType) -> list[JSON]:
    return list(dict.fromkeys((row.step, row.tag)))


def _step(row: AnyNodeType) -> Object:
    shape = _with(
        readable_fields(row, has_routes=False),
        {
            "stepId": Id().schema(),
            "type": {"enum": _names(row)},
            "transitions": transitions_schema(),
            "dependsOn": Targets().schema(),
        },
    )
    return {**shape, "allOf": [*row.rules_schema, _FAILS_OR_LEADS_ON]}


def _node(row: AnyNodeType) -> Object:
    fields = readable_fields(row, has_routes=True)
    config = fields.schema()
    # A rule that wants one of several fields wants the config too.
    needs_config = bool(config["required"]) or any("oneOf" in rule for rule in row.rules_schema)
    if row.rules_schema:
        config["allOf"] = list(row.rules_schema)
    # What a canvas keeps on a node for drawing is accepted as well.
    return {
        "type": "object",
        "properties": {
            "id": Id().schema(),
            "type": {"enum": _names(row)},
            "name": {"type": "string"},
            "description": {"type": "string"},
            "config": config,
        },
        "required": ["config"] if needs_config else [],
    }


def _edge() -> Object:
    ends = {name: Text().schema() for name in EDGE_FIELDS if name != "sourceHandle"}
    return {
        "type": "object",
        "properties": {**ends, "sourceHandle": {"type": ["string", "null"], "minLength": 1}},
        "allOf": [
            {"anyOf": [{"required": ["upstreamNodeID"]}, {"required": ["source"]}]},
            {"anyOf": [{"required": ["downstreamNodeID"]}, {"required": ["target"]}]},
        ],
    }


def _with(fields: Fields, more: Object) -> Object:
    shape = fields.schema()
    properties = shape["properties"]
    assert isinstance(properties, dict)
    return {**shape, "properties": {**more, **properties}}
