"""Rules between a compiled node and its edges: handles, joins, error targets, `cancels`."""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.definition.draft import DraftEdge, DraftNode
from tenuto.definition.nodes import BY_CONFIG
from tenuto.definition.report import Place, shown
from tenuto.definition.shape import Arrows, Shape
from tenuto.model.graph import DEFAULT, ERROR, Loop, Node

Compiled = Mapping[str, tuple[DraftNode, Node]]


def check_joins(
    nodes: Compiled, arrows: Arrows, shape: Shape, around: Mapping[str, str | None]
) -> None:
    """Report conflicts between nodes and their edges."""
    for draft, node in nodes.values():
        _check_handles(draft, node, arrows)
        _check_errors(draft, node, arrows)
        _check_cancels(draft, node, around)
        _check_completes(draft, node, nodes, around)
        incoming = [edge for edge in arrows.incoming[node.id] if edge not in shape.ends_iteration]
        _check_join(draft, node, incoming, nodes)
        _check_effect(draft, node)


def handles_of(node: Node, *, routes: bool = True) -> dict[str, None]:
    """Every handle of a node; without `routes` only those of its type."""
    row = BY_CONFIG[type(node.config)]
    passed_over = (DEFAULT,) if node.when is not None else ()
    handles = dict.fromkeys((*row.handles(node.config), *passed_over, ERROR))
    if routes:
        handles |= dict.fromkeys(route.handle for route in node.conditions)
        handles |= dict.fromkeys(route.handle for route in node.on_error)
    return handles


def _check_handles(draft: DraftNode, node: Node, arrows: Arrows) -> None:
    handles = handles_of(node)
    refused: set[str] = set()
    is_drawn = draft.place is not draft.settings_place
    named = [
        (edge.handle, edge.place.at("sourceHandle") if is_drawn else edge.place)
        for edge in arrows.outgoing[node.id]
    ]
    for handle, place in (*named, *draft.empty_handles):
        if handle not in handles and handle not in refused:
            refused.add(handle)
            kind = BY_CONFIG[type(node.config)].tag
            place.wrong(
                "TEN-1044",
                f"`{node.id}` ({kind}) has no handle {shown(handle)}",
                place.did_you_mean(handle, handles, f"Its handles are {', '.join(handles)}."),
            )


def _check_errors(draft: DraftNode, node: Node, arrows: Arrows) -> None:
    if node.error_handling != "fail_workflow":
        return
    if node.on_error or any(edge.handle == ERROR for edge in arrows.outgoing[node.id]):
        draft.settings_place.at("errorHandling").wrong(
            "TEN-1046", f"`{node.id}` fails the workflow and has an error target"
        )


def _check_cancels(draft: DraftNode, node: Node, around: Mapping[str, str | None]) -> None:
    if not node.cancels:
        return
    place = draft.settings_place.at("cancels")
    seen = _loops_seen(node, around)
    for index, name in enumerate(node.cancels):
        if name == node.id:
            place.at(index).wrong("TEN-1049", f"`{name}` cannot cancel itself")
        elif name not in around:
            place.at(index).wrong("TEN-1049", f"there is no step `{name}` to cancel")
        elif around[name] not in seen:
            place.at(index).wrong(
                "TEN-1049",
                f"`{name}` is in the body of loop `{around[name]}`, and only steps of that body "
                "can cancel it",
            )


def _check_completes(
    draft: DraftNode, node: Node, nodes: Compiled, around: Mapping[str, str | None]
) -> None:
    if not node.completes:
        return
    place = draft.settings_place.at("completes")
    seen = _loops_seen(node, around)
    for index, name in enumerate(node.completes):
        if name == node.id:
            place.at(index).wrong("TEN-1055", f"`{name}` cannot end itself")
        elif name not in around:
            place.at(index).wrong("TEN-1055", f"there is no loop `{name}` to end")
        elif name in nodes and not isinstance(nodes[name][1].config, Loop):
            place.at(index).wrong("TEN-1055", f"`{name}` is no loop")
        elif around[name] not in seen:
            place.at(index).wrong(
                "TEN-1055",
                f"`{name}` is in the body of loop `{around[name]}`, and only steps of that body "
                "can end it",
            )


def _loops_seen(node: Node, around: Mapping[str, str | None]) -> set[str | None]:
    """The bodies whose steps a node sees: its own, those around it, and the top."""
    seen = {None, loop := around[node.id]}
    while loop is not None:
        seen.add(loop := around[loop])
    return seen


def _check_join(draft: DraftNode, node: Node, incoming: list[DraftEdge], nodes: Compiled) -> None:
    if isinstance(node.config, Loop) and node.config.takes_arrivals and not incoming:
        draft.settings_place.at("source").wrong(
            "TEN-1047",
            f"`{node.id}` takes arrivals, and no edge leads to it",
            "Lead an edge to it, or give it an array as its source.",
        )
    least = node.at_least
    if least is None or least <= 1:
        return
    place = draft.settings_place.at("joinMode" if draft.required_edges is None else "dependsOn")
    if least > len(incoming):
        place.wrong("TEN-1047", f"{least} edges are needed, {len(incoming)} lead to `{node.id}`")
        return
    by_source: dict[str, list[str]] = {}
    for edge in incoming:
        by_source.setdefault(edge.source, []).append(edge.handle)
    most = sum(
        _taken_at_once(nodes[source][1], handles) if source in nodes else len(handles)
        for source, handles in by_source.items()
    )
    if least > most:
        place.wrong(
            "TEN-1048", f"{least} edges are needed, at most {most} can be taken in one instance"
        )


def _taken_at_once(source: Node, handles: list[str]) -> int:
    together = BY_CONFIG[type(source.config)].together(source.config)
    return max(1, sum(handle in together for handle in handles))


def _check_effect(draft: DraftNode, node: Node) -> None:
    place = draft.settings_place
    conditions = (place.at("transitions") if draft.place is place else place).at("conditions")
    _check_enough(node, place)
    ends_early = isinstance(node.config, Loop) and node.config.enough is not None
    if node.cancel_rest and node.at_least is None and not ends_early:
        place.at("cancelRest").warn(
            "TEN-1053", "`cancelRest` does nothing where every edge is waited for"
        )
    if node.conditions and isinstance(node.config, Loop):
        conditions.wrong(
            "TEN-1018",
            f"`conditions` stand for `default`, and `{node.id}` is a loop, which ends at `done`",
            "Lead `done` to a condition.",
        )
    elif node.conditions and DEFAULT not in handles_of(node):
        conditions.warn(
            "TEN-1053", f"`conditions` stand for `default`, which `{node.id}` never takes"
        )


def _check_enough(node: Node, place: Place) -> None:
    """Warn of a number of iterations that a literal source does not have."""
    config = node.config
    if not isinstance(config, Loop) or config.more is not None:
        return
    if isinstance(config.enough, int) and isinstance(config.source, list):
        count = len(config.source)
        if config.enough > count:
            items = "1 item" if count == 1 else f"{count} items"
            place.at("enough").warn(
                "TEN-1053",
                f"`enough` is {config.enough}, and `source` has {items}: all of them run",
                f"Write a number up to {count}, or remove it." if count else "Remove it.",
            )
