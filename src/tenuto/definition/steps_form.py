"""Reads the steps form: steps in a list, each with its transitions."""

from __future__ import annotations

from tenuto.definition.draft import (
    Draft,
    DraftEdge,
    DraftNode,
    known_edges,
    mark_duplicates,
    read_id,
    read_type,
)
from tenuto.definition.fields import is_object
from tenuto.definition.plain_kinds import Text
from tenuto.definition.report import Place
from tenuto.definition.transitions import Leads, read_transitions
from tenuto.model.graph import TIMEOUT
from tenuto.model.json import JSON, Object

STEP_FIELDS = ("stepId", "type", "transitions")
WRITTEN_BESIDE = (*STEP_FIELDS, "dependsOn")
"""What a step has beside its settings."""


def read_steps(steps: list[JSON], place: Place) -> Draft:
    """The draft that a list of steps with transitions spells."""
    read = [
        read_step(step, index, place.at(index))
        for index, step in enumerate(steps)
        if is_object(step, place.at(index))
    ]
    nodes = [node for node, _ in read]
    mark_duplicates(nodes, "stepId")
    edges = [edge for node, leads in read if not node.duplicate for edge in leads.edges]
    spare = [edge for node, leads in read if node.duplicate for edge in leads.edges]
    return Draft(
        form="steps",
        nodes=nodes,
        edges=known_edges(nodes, edges, spare),
        starts=(nodes[0].id,) if nodes else (),
        leaving=frozenset((edge.source, edge.handle) for edge in edges),
    )


def read_step(step: Object, index: int, place: Place) -> tuple[DraftNode, Leads]:
    """One step and its transitions."""
    name, named = read_id(step, "stepId", index, place)
    settings = {key: value for key, value in step.items() if key not in STEP_FIELDS}
    leads = read_transitions(name, step.get("transitions", {}), place.at("transitions"))
    _read_timeout_handler(name, step, settings, leads, place)
    node = DraftNode(
        id=name,
        row=read_type(step, place, "steps"),
        place=place,
        settings=settings,
        settings_place=place,
        named=named,
        conditions=leads.conditions,
        on_error=leads.on_error,
        empty_handles=leads.empty,
        unchecked=leads.unchecked,
    )
    return node, leads


def _read_timeout_handler(
    name: str, step: Object, settings: Object, leads: Leads, place: Place
) -> None:
    """`eventTimeout.timeoutHandlerStepId` is another spelling of `transitions.timeout`."""
    timeout = step.get("eventTimeout")
    if not isinstance(timeout, dict) or "timeoutHandlerStepId" not in timeout:
        return
    settings["eventTimeout"] = {
        key: value for key, value in timeout.items() if key != "timeoutHandlerStepId"
    }
    there = place.at("eventTimeout").at("timeoutHandlerStepId")
    handler = Text().read(timeout["timeoutHandlerStepId"], there)
    if not isinstance(handler, str):
        return
    targets = [edge.target for edge in leads.edges if edge.handle == TIMEOUT]
    if not targets:
        leads.edges.append(DraftEdge(name, TIMEOUT, handler, there))
    elif targets != [handler]:
        there.wrong("TEN-1019", "`transitions.timeout` says something else")
