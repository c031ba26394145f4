"""Compares what a workflow function describes with what JSON spells."""

from __future__ import annotations

from typing import Any, NamedTuple

from tenuto import WorkflowFunction
from tenuto.definition import compile_definition
from tenuto.model.graph import Edge, Graph, Node
from tenuto.model.json import JSON, Object


class Drawn(NamedTuple):
    """A graph, however its parts are listed."""

    nodes: dict[str, Node]
    edges: set[Edge]
    starts: set[str]


def drawn(graph: Graph) -> Drawn:
    return Drawn({node.id: node for node in graph.nodes}, set(graph.edges), set(graph.starts))


def described(flow: WorkflowFunction[..., Any]) -> Drawn:
    checked = flow.check()
    assert checked.definition is not None, checked.problems
    return drawn(checked.definition.graph)


def spelled(*steps: Object) -> Drawn:
    """The graph of a list of steps."""
    return drawn(compile_definition({"steps": list(steps)}).graph)


def from_nodes(nodes: list[JSON], *edges: str) -> Drawn:
    """The graph of nodes and edges written `source.handle > target`."""
    return drawn(
        compile_definition({"nodes": nodes, "edges": [_edge(each) for each in edges]}).graph
    )


def task(
    id: str, task_id: str | None = None, input: JSON = "{{ctx.input}}", **more: JSON
) -> Object:
    """A step of the dependency form as a traced call of a task is."""
    step: Object = {"stepId": id, "type": "TASK", "taskId": task_id or id, "outputVariable": id}
    return {**step, "input": input, **more}


def node(id: str, type: str, **config: JSON) -> JSON:
    return {"id": id, "type": type, "config": config}


def traced(id: str, task_id: str, input: JSON = "{{ctx.input}}", **config: JSON) -> JSON:
    """A node as a traced call of a task is."""
    return node(id, "task", taskId=task_id, input=input, outputVariable=id, **config)


def _edge(text: str) -> JSON:
    source, target = text.split(" > ")
    name, _, handle = source.partition(".")
    written: Object = {"source": name, "target": target}
    return {**written, "sourceHandle": handle} if handle else written
