"""Reads the graph form: nodes with their settings in `config`, and edges between handles."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.definition.draft import (
    Draft,
    DraftEdge,
    DraftNode,
    known_edges,
    mark_duplicates,
    read_id,
    read_type,
    refuse_target,
)
from tenuto.definition.fields import is_object, refuse_unknown
from tenuto.definition.plain_kinds import Text
from tenuto.definition.report import Place
from tenuto.definition.settings import readable_fields
from tenuto.model.graph import DEFAULT
from tenuto.model.json import JSON, Object

NODE_FIELDS = ("id", "type", "name", "description", "config")
EDGE_FIELDS = ("upstreamNodeID", "downstreamNodeID", "source", "target", "sourceHandle")

# What React Flow keeps on nodes and edges for drawing: accepted, never read.
_DRAWN_NODE = frozenset(
    {
        "position",
        "positionAbsolute",
        "data",
        "width",
        "height",
        "initialWidth",
        "initialHeight",
        "measured",
        "style",
        "className",
        "hidden",
        "selected",
        "dragging",
        "resizing",
        "draggable",
        "selectable",
        "connectable",
        "deletable",
        "focusable",
        "dragHandle",
        "sourcePosition",
        "targetPosition",
        "parentId",
        "parentNode",
        "extent",
        "expandParent",
        "zIndex",
        "origin",
        "handles",
        "handleBounds",
        "internals",
        "ariaLabel",
        "ariaRole",
        "domAttributes",
    }
)
_DRAWN_EDGE = frozenset(
    {
        "id",
        "type",
        "data",
        "label",
        "labelStyle",
        "labelShowBg",
        "labelBgStyle",
        "labelBgPadding",
        "labelBgBorderRadius",
        "style",
        "className",
        "animated",
        "hidden",
        "selected",
        "selectable",
        "deletable",
        "focusable",
        "reconnectable",
        "updatable",
        "targetHandle",
        "sourceNode",
        "targetNode",
        "markerStart",
        "markerEnd",
        "zIndex",
        "interactionWidth",
        "pathOptions",
        "ariaLabel",
        "ariaRole",
        "domAttributes",
    }
)

_KNOWN_OF_NODE = dict.fromkeys(NODE_FIELDS)
_KNOWN_OF_EDGE = dict.fromkeys(EDGE_FIELDS)
_ACCEPTED_ON_NODE = frozenset((*NODE_FIELDS, *_DRAWN_NODE))
_ACCEPTED_ON_EDGE = frozenset((*EDGE_FIELDS, *_DRAWN_EDGE))


def read_graph(
    nodes: list[JSON], edges: list[JSON], nodes_place: Place, edges_place: Place
) -> Draft:
    """The draft that nodes and edges spell."""
    drafted = [
        _read_node(node, index, nodes_place.at(index))
        for index, node in enumerate(nodes)
        if is_object(node, nodes_place.at(index))
    ]
    mark_duplicates(drafted, "id")
    names = {node.id for node in drafted}
    arrows = []
    for index, edge in enumerate(edges):
        there = edges_place.at(index)
        if is_object(edge, there):
            arrow = _read_edge(edge, names, there)
            if arrow is not None:
                arrows.append(arrow)
    starts = [node for node in drafted if node.row is not None and node.row.tag == "start"]
    for extra in starts[1:]:
        extra.place.wrong("TEN-1045", "there is a start node already")
    return Draft(
        form="graph",
        nodes=drafted,
        edges=known_edges(drafted, arrows),
        starts=(starts[0].id,) if starts else None,
        leaving=frozenset(_leaving(edges)),
    )


def _read_node(node: Object, index: int, place: Place) -> DraftNode:
    row = read_type(node, place, "graph")
    for name in node:
        if name in _ACCEPTED_ON_NODE:
            continue
        if row is not None and name in readable_fields(row, has_routes=True).by_name:
            message, advice = f"`{name}` is not a field here", "Move it into `config`."
            place.at(name).wrong("TEN-1012", message, advice)
        else:
            refuse_unknown(name, _KNOWN_OF_NODE, place)
    name, named = read_id(node, "id", index, place)
    there = place.at("config")
    config = node.get("config", {})
    settings = dict(config) if is_object(config, there) else {}
    for title in ("name", "description"):
        if title in node:
            if title in settings:
                place.at(title).wrong("TEN-1019", f"`config.{title}` is given too")
            elif isinstance(Text(may_be_empty=True).read(node[title], place.at(title)), str):
                settings[title] = node[title]
    return DraftNode(
        id=name,
        row=row,
        place=place,
        settings=settings,
        settings_place=there,
        named=named,
    )


def _read_edge(edge: Object, names: set[str], place: Place) -> DraftEdge | None:
    for name in edge:
        if name not in _ACCEPTED_ON_EDGE:
            refuse_unknown(name, _KNOWN_OF_EDGE, place)
    source = _read_end(edge, "upstreamNodeID", "source", place)
    target = _read_end(edge, "downstreamNodeID", "target", place)
    handle: object = edge.get("sourceHandle")
    # React Flow writes null where a node has one handle only.
    handle = (
        DEFAULT if handle is None else Text().read(edge["sourceHandle"], place.at("sourceHandle"))
    )
    if source is not None and source[0] not in names:
        refuse_target(*source[:1], names, source[1])
        source = None
    if target is not None and target[0] not in names:
        refuse_target(*target[:1], names, target[1])
        target = None
    if source is None or target is None or not isinstance(handle, str):
        return None
    return DraftEdge(source[0], handle, target[0], place)


def _leaving(edges: list[JSON]) -> Iterator[tuple[str, str]]:
    """The node and the handle that each edge leaves, whatever else is wrong with it."""
    for edge in edges:
        if isinstance(edge, dict):
            source = edge.get("upstreamNodeID", edge.get("source"))
            yield str(source), str(edge.get("sourceHandle") or DEFAULT)


def _read_end(edge: Object, ours: str, drawn: str, place: Place) -> tuple[str, Place] | None:
    """One end of an edge, in either spelling."""
    if ours in edge and drawn in edge and edge[ours] != edge[drawn]:
        place.at(drawn).wrong("TEN-1019", f"`{ours}` says something else")
    name = ours if ours in edge else drawn
    if name not in edge:
        place.wrong("TEN-1011", f"`{ours}` is missing", f"Add `{ours}` (or `{drawn}`).")
        return None
    value = Text().read(edge[name], place.at(name))
    return (value, place.at(name)) if isinstance(value, str) else None
