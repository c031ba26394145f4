"""Writes what surrounds a graph, and the settings of a node, as documents spell them."""

from __future__ import annotations

from tenuto.definition.compensation import write_compensation
from tenuto.definition.nodes import BY_CONFIG
from tenuto.definition.options import OPTIONS
from tenuto.definition.settings import shared_fields
from tenuto.model.graph import Definition, Node, Options
from tenuto.model.json import Object


def settings_of(node: Node) -> Object:
    """A node's settings, those of its type included; what leads where is not among them."""
    row = BY_CONFIG[type(node.config)]
    return shared_fields(row).write(node) | row.fields.write(node.config)


def heading(definition: Definition, title: str) -> Object:
    """What stands above the steps or nodes; `title` is what the form calls a name."""
    written: Object = {"id": definition.id}
    if definition.name is not None:
        written[title] = definition.name
    if definition.description is not None:
        written["description"] = definition.description
    if definition.input_schema is not None:
        written["inputSchema"] = definition.input_schema
    return written


def surroundings(definition: Definition, options: str) -> Object:
    """What stands below the steps or nodes; `options` is what the form calls them."""
    written: Object = {}
    if definition.compensation_steps:
        written["compensationSteps"] = write_compensation(definition.compensation_steps)
    if definition.cancellation_triggers:
        written["cancellationTriggers"] = list(definition.cancellation_triggers)
    if definition.triggers:
        written["triggers"] = list(definition.triggers)
    if definition.options != Options():
        written[options] = OPTIONS.write(definition.options)
    return written
