"""Writes a definition in the graph form and in the steps form."""

from __future__ import annotations

from tenuto.definition.compensation import write_compensation
from tenuto.definition.event_triggers import write_cancellation_triggers, write_triggers
from tenuto.definition.joins import handles_of
from tenuto.definition.nodes import BY_CONFIG
from tenuto.definition.options import OPTIONS
from tenuto.definition.report import Place, Report
from tenuto.definition.settings import ROUTES, TITLES, shared_fields
from tenuto.definition.transitions import CONDITIONS, ON_ERROR
from tenuto.model.errors import InvalidDefinition
from tenuto.model.graph import DEFAULT, Definition, Edge, Node, Options
from tenuto.model.json import JSON, Object
from tenuto.model.pauses import between_parts


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


def to_graph_form(definition: Definition) -> Object:
    """The document with nodes and edges that compiles to this definition."""
    nodes: list[JSON] = [_node(node) for node in definition.graph.nodes]
    edges: list[JSON] = [_edge(edge) for edge in definition.graph.edges]
    return {
        **heading(definition, "title"),
        "nodes": nodes,
        "edges": edges,
        **surroundings(definition, "workflowOptions"),
    }


def _node(node: Node) -> Object:
    between_parts()
    config = settings_of(node) | ROUTES.write(node)
    titles = {name: config.pop(name) for name in TITLES.by_name if name in config}
    tag = BY_CONFIG[type(node.config)].tag
    return {"id": node.id, "type": tag, **titles, "config": config}


def _edge(edge: Edge) -> Object:
    written: Object = {"upstreamNodeID": edge.source, "downstreamNodeID": edge.target}
    if edge.handle != DEFAULT:
        written["sourceHandle"] = edge.handle
    return written


Targets = dict[str, list[str]]
"""Where each handle of a node leads."""


def to_steps_form(definition: Definition) -> Object:
    """The document with steps that compiles to this definition.

    InvalidDefinition where there is none: the steps form begins with one step.
    """
    graph = definition.graph
    if len(graph.starts) != 1:
        report = Report()
        listing = ", ".join(f"`{name}`" for name in graph.starts[:10])
        Place("$", report).wrong("TEN-1070", f"the graph begins with several nodes: {listing}")
        raise InvalidDefinition("this graph cannot be written as steps", report.problems)
    leads: dict[str, Targets] = {node.id: {} for node in graph.nodes}
    for edge in graph.edges:
        leads[edge.source].setdefault(edge.handle, []).append(edge.target)
    ordered = sorted(graph.nodes, key=lambda node: node.id != graph.starts[0])
    steps: list[JSON] = [_step(node, leads[node.id]) for node in ordered]
    return {
        **heading(definition, "name"),
        "steps": steps,
        **surroundings(definition, "options"),
    }


def _step(node: Node, targets: Targets) -> Object:
    step: Object = {"stepId": node.id, "type": BY_CONFIG[type(node.config)].step}
    step.update(settings_of(node))
    transitions = _transitions(node, targets)
    if transitions:
        step["transitions"] = transitions
    return step


def _transitions(node: Node, targets: Targets) -> Object:
    routed = {route.handle for route in node.conditions}
    routed |= {route.handle for route in node.on_error}
    own = handles_of(node, routes=False)
    written: Object = {
        handle: _spelled(names)
        for handle, names in targets.items()
        if handle in own or handle not in routed
    }
    if node.conditions:
        written[CONDITIONS] = [
            {"when": route.when, "to": _spelled(targets.get(route.handle, []))}
            for route in node.conditions
        ]
    if node.on_error:
        written[ON_ERROR] = [
            {"codes": list(route.codes), "to": _spelled(targets.get(route.handle, []))}
            for route in node.on_error
        ]
    return written


def _spelled(names: list[str]) -> JSON:
    return names[0] if len(names) == 1 else list(names)
