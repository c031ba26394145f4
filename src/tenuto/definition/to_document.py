"""Writes the fields around a graph, and the settings of a node, as in documents."""

from __future__ import annotations

from tenuto.definition.compensation import write_compensation
from tenuto.definition.event_triggers import write_cancellation_triggers, write_triggers
from tenuto.definition.nodes import BY_CONFIG
from tenuto.definition.options import OPTIONS
from tenuto.definition.settings import shared_fields
from tenuto.model.graph import Definition, Node, Options
from tenuto.model.json import Object


def settings_of(node: Node) -> Object:
    """A node's settings, including those of its type, without edges."""
    row = BY_CONFIG[type(node.config)]
    return shared_fields(row).write(node) | row.fields.write(node.config)


def heading(definition: Definition, title: str) -> Object:
    """The fields above the steps or nodes; `title` is the form's field for the name."""
    written: Object = {"id": definition.id}
    if definition.name is not None:
        written[title] = definition.name
    if definition.description is not None:
        written["description"] = definition.description
    if definition.input_schema is not None:
        written["inputSchema"] = definition.input_schema
    return written


def surroundings(definition: Definition, options: str) -> Object:
    """The fields below the steps or nodes; `options` is the form's field for the options."""
    written: Object = {}
    if definition.compensation_steps:
        written["compensationSteps"] = write_compensation(definition.compensation_steps)
    if definition.cancellation_triggers:
        written["cancellationTriggers"] = write_cancellation_triggers(
            definition.cancellation_triggers
        )
    if definition.triggers:
        written["triggers"] = write_triggers(definition.triggers)
    if definition.options != Options():
        written[options] = OPTIONS.write(definition.options)
    return written
