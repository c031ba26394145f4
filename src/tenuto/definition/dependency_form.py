"""Reads the dependency form: steps with `dependsOn`.

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
from tenuto.definition.transitions import ON_ERROR, Targets
from tenuto.model.graph import DEFAULT, ERROR
from tenuto.model.json import JSON, Object


def is_dependency_form(steps: list[JSON]) -> bool:
    return any(isinstance(step, dict) and "dependsOn" in step for step in steps)


def read_dependencies(steps: list[JSON], place: Place) -> Draft:
    """The draft that a list of steps with `dependsOn` spells."""
    read = [
        _read(step, index, place.at(index))
        for index, step in enumerate(steps)
        if is_object(step, place.at(index))
    ]
    nodes = [node for node, _ in read]
    mark_duplicates(nodes, "stepId")
    edges = [edge for node, ends in read if not node.duplicate for edge in ends]
    spare = [edge for node, ends in read if node.duplicate for edge in ends]
    names = {node.id for node in nodes}
    kept = known_edges(nodes, _as_named(edges, names), _as_named(spare, names))
    targets = {edge.target for edge in kept}
    starts = [node.id for node in nodes if not node.duplicate and node.id not in targets]
    return Draft(form="steps", nodes=nodes, edges=kept, starts=tuple(starts))


def _read(step: Object, index: int, place: Place) -> tuple[DraftNode, list[DraftEdge]]:
    """One step with the edges that it names: its dependencies, and where its errors lead."""
    node, leads = read_step(step, index, place)
    node.settings.pop("dependsOn", None)
    dependencies: list[DraftEdge] = []
    if "dependsOn" in step:
        read = Targets().read(step["dependsOn"], place.at("dependsOn"))
        if isinstance(read, tuple):
            dependencies = [DraftEdge(source, DEFAULT, node.id, there) for source, there in read]
            node.required_edges = len(dependencies)
        if "joinMode" in step:
            place.at("joinMode").wrong(
                "TEN-1056", "`dependsOn` names what is waited for: all of it"
            )
    _refuse_own_handles(node, step, place)
    handled = {ERROR, *(route.handle for route in node.on_error)}
    outgoing = [edge for edge in leads.edges if edge.handle in handled]
    return node, [*outgoing, *dependencies]


def _refuse_own_handles(node: DraftNode, step: Object, place: Place) -> None:
    """Report transitions other than those of errors, and node types with handles of their own."""
    transitions = step.get("transitions")
    for name in transitions if isinstance(transitions, dict) else ():
        if name not in {ERROR, ON_ERROR}:
            place.at("transitions").at(name).wrong(
                "TEN-1052", "beside `dependsOn` only `error` and `onError` are transitions"
            )
    timeout = step.get("eventTimeout")
    if isinstance(timeout, dict) and "timeoutHandlerStepId" in timeout:
        place.at("eventTimeout").at("timeoutHandlerStepId").wrong(
            "TEN-1052", "beside `dependsOn` a time-out can only be an error"
        )
    if node.row is not None and node.row.has_own_handles(node.settings):
        place.at("type").wrong(
            "TEN-1052", f"{node.row.step} has handles of its own, which `dependsOn` cannot name"
        )


def _as_named(edges: list[DraftEdge], names: set[str]) -> list[DraftEdge]:
    """Swap the ends of an edge whose source is unknown: the user named the source here."""
    return [
        edge
        if edge.source in names
        else DraftEdge(edge.target, edge.handle, edge.source, edge.place)
        for edge in edges
    ]
