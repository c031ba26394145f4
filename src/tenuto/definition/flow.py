"""Rules of edges: every node is reachable, there is no cycle, loops have closed bodies."""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.definition.draft import Draft, DraftNode
from tenuto.definition.nodes.ends import END, START
from tenuto.definition.nodes.loop import LOOP
from tenuto.definition.shape import Arrows, Shape, leads_into
from tenuto.model.graph import BODY

MOST_LOOPS = 16
"""The deepest nesting of loops: the numbers of all their iterations are part of keys."""

_LONGEST_CYCLE = 50


def check_flow(
    draft: Draft, arrows: Arrows, shape: Shape, around: Mapping[str, str | None]
) -> None:
    """Report the problems of edges that concern the whole graph."""
    nodes = {node.id: node for node in draft.nodes if not node.duplicate}
    _check_cycles(shape, nodes)
    _check_reached(draft, shape)
    _check_starts(draft, arrows, shape)
    _check_loops(draft, arrows, shape, around)
    _check_depth(arrows, shape, around, nodes)


def check_bodies(draft: Draft) -> None:
    """Report loops that repeat nothing; one with `result` computes a list without any step."""
    if draft.leaving is None:
        return
    for node in draft.nodes:
        if node.row is not LOOP or node.duplicate or (node.id, BODY) in draft.leaving:
            continue
        if not {"source", "result"} <= node.settings.keys():
            what = f"loop `{node.id}`" if node.named else "this loop"
            node.place.wrong("TEN-1059", f"{what} has no body")


def _check_cycles(shape: Shape, nodes: Mapping[str, DraftNode]) -> None:
    for cycle, closing in shape.cycles:
        names = [name if nodes[name].named else "(no id)" for name in cycle]
        if len(names) > _LONGEST_CYCLE:
            half = _LONGEST_CYCLE // 2
            names = [*names[:half], "…", *names[-half:]]
        spelled = " → ".join([*names, names[0]])
        closing.place.wrong("TEN-1042", f"the steps lead in a circle: {spelled}")


def _check_reached(draft: Draft, shape: Shape) -> None:
    on_cycle = {name for cycle, _ in shape.cycles for name in cycle}
    for node in draft.nodes:
        if not (node.id in shape.reached or node.id in on_cycle or node.duplicate):
            what = f"`{node.id}`" if node.named else "this step"
            node.place.wrong("TEN-1041", f"{what} cannot be reached from the start")


def _check_starts(draft: Draft, arrows: Arrows, shape: Shape) -> None:
    for node in draft.nodes:
        if node.row is not START or node.duplicate:
            continue
        if draft.form == "steps" and node.id not in shape.starts:
            node.place.wrong("TEN-1045", "a start step comes first")
            continue
        for edge in arrows.incoming[node.id]:
            edge.place.wrong("TEN-1045", f"`{edge.source}` leads to the start")


def _check_loops(
    draft: Draft, arrows: Arrows, shape: Shape, around: Mapping[str, str | None]
) -> None:
    for edge in draft.edges:
        here = leads_into(edge, arrows, around)
        if edge in shape.ends_iteration:
            if here != edge.target:
                what = f"`{edge.source}` is in the body of `{here}` and"
                if edge.source == here:
                    what = f"the body of `{here}`"
                edge.place.wrong("TEN-1050", f"{what} leads out of it to `{edge.target}`")
        elif edge not in shape.back and around[edge.target] != here:
            edge.place.wrong(
                "TEN-1050",
                f"`{edge.target}` is in the body of loop `{around[edge.target]}`, and "
                f"`{edge.source}` leads to it from outside",
            )
    for node in draft.nodes:
        if node.row is END and not node.duplicate and around[node.id] is not None:
            node.place.wrong("TEN-1051", f"`{node.id}` is in the body of `{around[node.id]}`")


def _check_depth(
    arrows: Arrows,
    shape: Shape,
    around: Mapping[str, str | None],
    nodes: Mapping[str, DraftNode],
) -> None:
    depth: dict[str | None, int] = {None: 0}
    for name in shape.order:
        if name in arrows.loops:
            depth[name] = depth[around[name]] + 1
            if depth[name] == MOST_LOOPS + 1:
                what = f"`{name}`" if nodes[name].named else "this loop"
                nodes[name].place.wrong("TEN-1054", f"{what} is inside of {MOST_LOOPS} loops")
