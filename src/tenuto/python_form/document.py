"""The JSON document of a workflow function: the graph form, as the editor draws it."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.model.errors import Problem
from tenuto.model.graph import DEFAULT
from tenuto.model.json import JSON, Object
from tenuto.python_form.compensations import Undone, write_given
from tenuto.python_form.edges import Edges, wire
from tenuto.python_form.guards import unguarded
from tenuto.python_form.json_values import write
from tenuto.python_form.step import ARM, Step
from tenuto.python_form.step_ids import Names, name_steps
from tenuto.python_form.trace import Trace


class Written(NamedTuple):
    """A graph, and its warnings."""

    graph: Object
    warnings: tuple[Problem, ...]


def write_graph(trace: Trace) -> Written:
    """Nodes, edges and compensation of a trace."""
    names = name_steps(trace)
    edges = wire(trace, names)
    written: Object = {
        "nodes": [_node(step, edges) for step in trace.steps],
        "edges": [
            _edge(source.step.id, source.handle, step.id)
            for step in trace.steps
            for source in edges[step]
        ],
    }
    if trace.undone:
        written["compensationSteps"] = [_compensation(each, names) for each in trace.undone]
    return Written(written, (*trace.warnings, *unguarded(edges)))


def _node(step: Step, edges: Edges) -> JSON:
    config: Object = {}
    for name, value in step.config.items():
        config[name] = write(value)
    if step.keeps is not None:
        config["values"] = {step.id: write(step.keeps)}
    if step.has_output:
        config["outputVariable"] = step.id
    if isinstance(arms := config.get("arms"), list):
        config["arms"] = [_with_note(arm, step.id) for arm in arms]
    if edges[step] and step.join == "any":
        config["joinMode"] = "any" if step.at_least == 1 else {"atLeast": step.at_least}
        if step.cancels_rest:
            config["cancelRest"] = True
    elif edges[step] and step.join == "required":
        config["joinMode"] = {"atLeast": len(edges[step])}
    titles: Object = {} if step.title is None else {"name": step.title}
    return {"id": step.id, "type": step.kind, **titles, "config": config}


def _with_note(arm: JSON, id: str) -> JSON:
    """An arm that records which one it was: the output of a wait is the event alone."""
    assert isinstance(arm, dict)
    mapping = arm.get("eventPayloadMapping") or {}
    assert isinstance(mapping, dict)
    noted: Object = {**mapping, f"{id}{ARM}": f"{{{{'{arm['id']}'}}}}"}
    return {**arm, "eventPayloadMapping": noted}


def _edge(source: str, handle: str, target: str) -> JSON:
    written: Object = {"upstreamNodeID": source, "downstreamNodeID": target}
    if handle != DEFAULT:
        written["sourceHandle"] = handle
    return written


def _compensation(undone: Undone, names: Names) -> JSON:
    written: Object = {
        "stepId": names.take(f"undo_{undone.step.id}"),
        "compensationFor": undone.step.id,
        "type": "task",
        "taskId": undone.task.name,
    }
    if undone.given is not None:
        written["input"] = write_given(undone.given)
    if undone.condition is not None:
        written["condition"] = write(undone.condition)
    return written
