"""Writes a definition in the graph form."""

from __future__ import annotations

from tenuto.definition.nodes import BY_CONFIG
from tenuto.definition.settings import ROUTES, TITLES
from tenuto.definition.to_document import heading, settings_of, surroundings
from tenuto.model.graph import DEFAULT, Definition, Edge, Node
from tenuto.model.json import JSON, Object


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
    config = settings_of(node) | ROUTES.write(node)
    titles = {name: config.pop(name) for name in TITLES.by_name if name in config}
    tag = BY_CONFIG[type(node.config)].tag
    return {"id": node.id, "type": tag, **titles, "config": config}


def _edge(edge: Edge) -> Object:
    written: Object = {"upstreamNodeID": edge.source, "downstreamNodeID": edge.target}
    if edge.handle != DEFAULT:
        written["sourceHandle"] = edge.handle
    return written
