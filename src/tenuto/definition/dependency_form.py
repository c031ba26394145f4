"""Reads the dependency form: steps that name what they depend on.

Every dependency is required: a step whose input is dead is skipped. A step that is only the target
of errors does not start by itself.
"""

from __future__ import annotations

from tenuto.definition.draft import (
    Draft,
    DraftEdge,
    DraftNode,
    known_edges,
    mark_duplicates,
)
from tenuto.definition.fields import is_object
from tenuto.definition.report import Place
from tenuto.definition.steps_form import read_step
from tenuto.definition.transitions import Targets
from tenuto.model.graph import DEFAULT, ERROR
from tenuto.model.json import JSON, Object


def is_dependency_form(steps: list[JSON]) -> bool:
    return any(isinstance(step, dict) and "dependsOn" in step for step in steps)


def read_dependencies(steps: list[JSON], place: Place) -> Draft:
    """The draft that a list of steps with `dependsOn` spells."""
    nodes: list[DraftNode] = []
    edges: list[DraftEdge] = []
    for index, step in enumerate(steps):
        there = place.at(index)
        if is_object(step, there):
            node, outgoing, incoming = _read(step, index, there)
            nodes.append(node)
            edges.extend(outgoing)
            edges.extend(incoming)
    mark_duplicates(nodes, "stepId")
    kept = known_edges(nodes, _known_sources(nodes, edges))
    targets = {edge.target for edge in kept}
    depending = {node.id for node in nodes if node.required_edges}
    starts = [
        node.id
        for node in nodes
        if not node.duplicate and node.id not in targets and node.id not in depending
    ]
    return Draft(form="steps", nodes=nodes, edges=kept, starts=tuple(starts))


def _read(
    step: Object, index: int, place: Place
) -> tuple[DraftNode, list[DraftEdge], list[DraftEdge]]:
    node, leads = read_step(step, index, place)
    node.settings.pop("dependsOn", None)
    dependencies: list[DraftEdge] = []
    if "dependsOn" in step:
        read = Targets().read(step["dependsOn"], place.at("dependsOn"))
        if isinstance(read, tuple):
            dependencies = [DraftEdge(source, DEFAULT, node.id, there) for source, there in read]
            node.required_edges = len(dependencies)
    handled = {ERROR, *(route.handle for route in node.on_error)}
    outgoing: list[DraftEdge] = []
    for edge in leads.edges:
        if edge.handle in handled:
            outgoing.append(edge)
        else:
            edge.place.wrong(
                "TEN-1052", "beside `dependsOn` only `error` and `onError` are transitions"
            )
    return node, outgoing, dependencies


def _known_sources(nodes: list[DraftNode], edges: list[DraftEdge]) -> list[DraftEdge]:
    names = {node.id for node in nodes}
    kept = []
    for edge in edges:
        if edge.source in names:
            kept.append(edge)
        else:
            # Checked like a target: it is what the user named here.
            kept.append(DraftEdge(edge.target, edge.handle, edge.source, edge.place))
    return kept
