"""The shape of a graph: its starts, reachable nodes, cycles, and the loop around each node.

All algorithms are linear in nodes and edges and use no recursion, so that a chain of 20,000 steps
is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet

from msgspec import Struct

from tenuto.definition.draft import Draft, DraftEdge
from tenuto.definition.nodes.loop import LOOP
from tenuto.model.graph import BODY

_MOST_CYCLES = 20
_SEARCHES = 20
"""The most visits of a node, on average, in the search for loops that start a graph."""


class Shape(Struct, kw_only=True):
    """The shape of a draft."""

    starts: tuple[str, ...]
    reached: AbstractSet[str]
    cycles: Sequence[tuple[Sequence[str], DraftEdge]]
    """Each as the ids on it, in order, the first not repeated; and the edge that closes it."""
    order: Sequence[str]
    """Sources before targets."""
    ends_iteration: AbstractSet[DraftEdge]
    """Edges back to a loop node that is around their source."""
    back: AbstractSet[DraftEdge]
    """Edges that close a cycle or end an iteration."""


class Arrows:
    """The edges of a draft, by their ends."""

    def __init__(self, draft: Draft) -> None:
        self.names = tuple(node.id for node in draft.nodes if not node.duplicate)
        self.loops = {node.id for node in draft.nodes if node.row is LOOP and not node.duplicate}
        self.outgoing: Mapping[str, list[DraftEdge]] = {name: [] for name in self.names}
        self.incoming: Mapping[str, list[DraftEdge]] = {name: [] for name in self.names}
        for edge in draft.edges:
            self.outgoing[edge.source].append(edge)
            self.incoming[edge.target].append(edge)


class Flow:
    """The edges of a draft, and what follows from them."""

    def __init__(self, draft: Draft) -> None:
        self.arrows = Arrows(draft)
        self.shape = shape_of(draft, self.arrows)
        self.around = loops_around(self.arrows, self.shape)
        """The innermost loop around each node."""


def shape_of(draft: Draft, arrows: Arrows) -> Shape:
    """Walk the whole draft once, from its starts, then from the unreached nodes."""
    walk = _Walk(arrows)
    if draft.starts is None:
        walk.from_each(name for name in arrows.names if not arrows.incoming[name])
        walk.from_each(_loops_that_start(arrows, walk.visited))
        starts = tuple(
            name
            for name in arrows.names
            if all(edge in walk.ends_iteration for edge in arrows.incoming[name])
        )
    else:
        starts = draft.starts
        walk.from_each(starts)
    reached = frozenset(walk.visited)
    walk.from_each(name for name in arrows.names if not arrows.incoming[name])
    walk.from_each(arrows.names)
    return Shape(
        starts=starts,
        reached=reached,
        cycles=walk.cycles,
        order=walk.finished[::-1],
        ends_iteration=walk.ends_iteration,
        back=walk.back,
    )


class _Walk:
    """A depth-first walk that keeps its own stack."""

    def __init__(self, arrows: Arrows) -> None:
        self._arrows = arrows
        self.visited: set[str] = set()
        self.finished: list[str] = []
        self.cycles: list[tuple[list[str], DraftEdge]] = []
        self.ends_iteration: set[DraftEdge] = set()
        self.back: set[DraftEdge] = set()

    def from_each(self, roots: Iterable[str]) -> None:
        for root in roots:
            if root not in self.visited:
                self._from(root)

    def _from(self, root: str) -> None:
        path: list[str] = [root]
        taken: list[int] = [0]
        position = {root: 0}
        self.visited.add(root)
        while path:
            node = path[-1]
            edges = self._arrows.outgoing[node]
            if taken[-1] == len(edges):
                path.pop()
                taken.pop()
                del position[node]
                self.finished.append(node)
                continue
            edge = edges[taken[-1]]
            taken[-1] += 1
            if edge.target in position:
                self._close(edge, path, taken, position[edge.target])
            elif edge.target not in self.visited:
                self.visited.add(edge.target)
                position[edge.target] = len(path)
                path.append(edge.target)
                taken.append(0)

    def _close(self, edge: DraftEdge, path: list[str], taken: list[int], start: int) -> None:
        """`edge` leads back onto the path: the end of an iteration, or a cycle."""
        self.back.add(edge)
        first_step = self._arrows.outgoing[path[start]][taken[start] - 1]
        is_from_body = edge.source != edge.target and first_step.handle == BODY
        if edge.target in self._arrows.loops and is_from_body:
            self.ends_iteration.add(edge)
        elif len(self.cycles) < _MOST_CYCLES:
            self.cycles.append((path[start:], edge))


def _loops_that_start(arrows: Arrows, visited: AbstractSet[str]) -> list[str]:
    """Loop nodes whose only incoming edges come from their own bodies."""
    budget = _SEARCHES * (len(arrows.names) + sum(map(len, arrows.outgoing.values())))
    found = []
    for name in arrows.names:
        if name in arrows.loops and name not in visited and budget > 0:
            body = _body(arrows, name)
            budget -= len(body) + 1
            if all(edge.source in body for edge in arrows.incoming[name]):
                found.append(name)
    return found


def _body(arrows: Arrows, loop: str) -> set[str]:
    """Everything reachable from the handle `loop`, without going through the loop node."""
    todo = [edge.target for edge in arrows.outgoing[loop] if edge.handle == BODY]
    body: set[str] = set()
    while todo:
        name = todo.pop()
        if name != loop and name not in body:
            body.add(name)
            todo.extend(edge.target for edge in arrows.outgoing[name])
    return body


def loops_around(arrows: Arrows, shape: Shape) -> dict[str, str | None]:
    """The innermost loop around each node: the deepest that an edge into it comes from."""
    around: dict[str, str | None] = {}
    depth: dict[str | None, int] = {None: 0}
    for name in shape.order:
        innermost: str | None = None
        for edge in arrows.incoming[name]:
            if edge not in shape.back:
                loop = leads_into(edge, arrows, around)
                if depth[loop] > depth[innermost]:
                    innermost = loop
        around[name] = innermost
        if name in arrows.loops:
            depth[name] = depth[innermost] + 1
    return around


def leads_into(edge: DraftEdge, arrows: Arrows, around: Mapping[str, str | None]) -> str | None:
    """The loop whose body an edge leads to, judged by its source."""
    if edge.source in arrows.loops and edge.handle == BODY:
        return edge.source
    return around[edge.source]
