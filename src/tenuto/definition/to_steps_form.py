"""Writes a definition in the steps form, where it can be."""

from __future__ import annotations

from tenuto.definition.joins import handles_of
from tenuto.definition.nodes import BY_CONFIG
from tenuto.definition.report import Place, Report
from tenuto.definition.to_document import heading, settings_of, surroundings
from tenuto.definition.transitions import CONDITIONS, ON_ERROR
from tenuto.model.errors import InvalidDefinition
from tenuto.model.graph import Definition, Node
from tenuto.model.json import JSON, Object

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
