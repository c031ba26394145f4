"""Drafts: nodes with raw settings, and edges, as read from every form before compilation."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from tenuto.definition.meant import type_meant
from tenuto.definition.nodes import BY_NAME, TYPES, AnyNodeType
from tenuto.definition.plain_kinds import Id
from tenuto.definition.report import Place, shown
from tenuto.model.graph import ErrorRoute, Route
from tenuto.model.ids import NAME
from tenuto.model.json import JSON, Object, kind_of

_MOST_LISTED = 12
"""So many steps are listed where one is not found."""


class DraftNode(Struct, kw_only=True):
    """A node as it was written."""

    id: str
    row: AnyNodeType | None
    """None: its type is unknown, which has been reported."""
    place: Place
    settings: Object
    settings_place: Place
    named: bool = True
    """False: it had no usable id and got a generated one."""
    duplicate: bool = False
    """Whether an earlier node has this id: then only its settings are checked."""
    conditions: tuple[Route, ...] = ()
    on_error: tuple[ErrorRoute, ...] = ()
    empty_handles: list[tuple[str, Place]] = []
    """Handles that are named without targets."""
    unchecked: list[tuple[str, Place]] = []
    """Expressions outside the settings that have still to be checked."""
    required_edges: int | None = None
    """In the dependency form: how many dependencies it has."""


class DraftEdge(Struct, frozen=True):
    """An edge as it was written."""

    source: str
    handle: str
    target: str
    place: Place


class Draft(Struct, kw_only=True):
    """A graph before its checks."""

    form: Literal["steps", "graph"]
    nodes: list[DraftNode]
    edges: list[DraftEdge]
    starts: tuple[str, ...] | None
    """None: every node without incoming edges starts."""
    leaving: frozenset[tuple[str, str]] | None = None
    """The nodes and handles that edges leave as written, also those that lead nowhere; None in the
    dependency form, which names no handles."""


def read_id(source: Object, name: str, index: int, place: Place) -> tuple[str, bool]:
    """The id of a node and whether it was given; a generated one if it is missing."""
    value = source.get(name)
    if name not in source:
        place.wrong("TEN-1011", f"`{name}` is missing", f"Add `{name}`.")
    else:
        Id().read(value, place.at(name))
    if isinstance(value, str) and value:
        return value, True
    return f"\0{index}", False


def read_type(source: Object, place: Place, form: Literal["steps", "graph"]) -> AnyNodeType | None:
    """The node type that `source` names."""
    if "type" not in source:
        place.wrong("TEN-1011", "`type` is missing", "Add `type`.")
        return None
    value: JSON = source["type"]
    if not isinstance(value, str):
        place.at("type").wrong("TEN-1010", f"expected a type, found {kind_of(value)}")
        return None
    row = BY_NAME.get(value)
    if row is None:
        names = [each.step if form == "steps" else each.tag for each in TYPES]
        place.at("type").wrong(
            "TEN-1022",
            f"{shown(value)} is not a node type",
            type_meant(value) or place.did_you_mean(value, names, f"Types are {', '.join(names)}."),
        )
    return row


def mark_duplicates(nodes: list[DraftNode], name: str) -> None:
    """Report each id that an earlier node has."""
    seen: set[str] = set()
    for node in nodes:
        if node.id in seen:
            node.duplicate = True
            node.place.at(name).wrong("TEN-1021", f"`{node.id}` is the id of an earlier node")
        seen.add(node.id)


def known_edges(
    nodes: list[DraftNode], edges: list[DraftEdge], of_duplicates: list[DraftEdge] | None = None
) -> list[DraftEdge]:
    """The edges between known nodes, each once; the others are reported.

    Edges `of_duplicates` are checked too, but lead nowhere.
    """
    names = {node.id for node in nodes}
    seen: set[tuple[str, str, str]] = set()
    kept: list[DraftEdge] = []
    for edge in of_duplicates or ():
        if edge.target not in names:
            refuse_target(edge.target, names, edge.place)
    for edge in edges:
        key = (edge.source, edge.handle, edge.target)
        if edge.target not in names:
            refuse_target(edge.target, names, edge.place)
        elif key in seen:
            edge.place.wrong(
                "TEN-1043", f"`{edge.source}` leads to `{edge.target}` by this handle already"
            )
        else:
            seen.add(key)
            kept.append(edge)
    return kept


def refuse_target(name: str, names: set[str], place: Place) -> None:
    advice = name_a_step(name, names, place)
    place.wrong("TEN-1040", f"there is no step {shown(name)}", advice)


def name_a_step(name: str, names: Collection[str], place: Place) -> str:
    """Advice for a name that no step has."""
    listing = "Name a step of this definition."
    named = sorted(filter(NAME.match, names)) if len(names) <= _MOST_LISTED else []
    if named:
        listing = f"The steps are {', '.join(named)}."
    return place.did_you_mean(name, names, listing)
