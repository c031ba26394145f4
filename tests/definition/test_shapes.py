"""Loops, cycles and reach, against a slow and obvious reading of the rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from tenuto.definition import check
from tests.definition.values import Value
from tests.kit.breadth import breadth

Edge = tuple[str, str, str]
"""Source, handle, target."""

SHAPE_CODES = {"TEN-1041", "TEN-1042", "TEN-1045", "TEN-1050"}


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, str], list[Edge]]:
    """Tasks and loops with arbitrary edges among them."""
    count = draw(st.integers(1, 5))
    kinds = {f"n{number}": draw(st.sampled_from(["task", "loop"])) for number in range(count)}
    names = sorted(kinds)
    edges = set()
    for _ in range(draw(st.integers(0, 7))):
        source = draw(st.sampled_from(names))
        handles = ["default"] if kinds[source] == "task" else ["loop", "done"]
        edges.add((source, draw(st.sampled_from(handles)), draw(st.sampled_from(names))))
    return kinds, sorted(edges)


def body_of(loop: str, edges: list[Edge]) -> set[str]:
    """Every node reachable from handle `loop`, without going through the loop node."""
    body: set[str] = set()
    todo = [target for source, handle, target in edges if (source, handle) == (loop, "loop")]
    while todo:
        name = todo.pop()
        if name != loop and name not in body:
            body.add(name)
            todo += [target for source, _, target in edges if source == name]
    return body


def is_valid(kinds: dict[str, str], edges: list[Edge]) -> bool:
    bodies = {name: body_of(name, edges) for name in kinds if kinds[name] == "loop"}
    back = {
        edge
        for edge in edges
        for loop, body in bodies.items()
        if edge[2] == loop and edge[0] in body
    }
    forward = [edge for edge in edges if edge not in back]
    return (
        not has_cycle(set(kinds), forward)
        and all(keeps_to_itself(loop, bodies, edges) for loop in bodies)
        and is_reached(set(kinds), forward)
    )


def keeps_to_itself(loop: str, bodies: dict[str, set[str]], edges: list[Edge]) -> bool:
    """No edge into the body from outside, none from it to a loop that is around this one."""
    body = bodies[loop]
    for source, handle, target in edges:
        if target in body and source not in body and (source, handle) != (loop, "loop"):
            return False
        is_outer = target in bodies and target != loop and loop in bodies[target]
        if source in body and is_outer:
            return False
        if (source, handle) == (loop, "loop") and is_outer:
            return False
    return True


def has_cycle(names: set[str], edges: list[Edge]) -> bool:
    while names:
        free = {name for name in names if not any(e[2] == name and e[0] in names for e in edges)}
        if not free:
            return True
        names = names - free
    return False


def is_reached(names: set[str], forward: list[Edge]) -> bool:
    """Whatever nothing leads to starts, so only a cycle can be out of reach."""
    return bool(names - {target for _, _, target in forward})


@pytest.mark.slow
@settings(max_examples=breadth(250, 5000))
@given(graphs())
def test_the_fast_reading_agrees_with_the_obvious_one(
    graph: tuple[dict[str, str], list[Edge]],
) -> None:
    kinds, edges = graph
    config: Value = {"task": {"taskId": "t"}, "loop": {"source": [], "result": 1}}
    document: Value = {
        "nodes": [
            {"id": name, "type": kind, "config": config[kind]} for name, kind in kinds.items()
        ],
        "edges": [
            {"source": source, "sourceHandle": handle, "target": target}
            for source, handle, target in edges
        ],
    }
    codes = {each.code for each in check(document).problems}
    assert codes <= SHAPE_CODES
    assert (not codes) == is_valid(kinds, edges), (edges, codes)
