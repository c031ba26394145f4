"""Edges and joins: which nodes may begin, and which never will, once a node has its outcome.

An edge arrives once: *taken* or *dead*. A node with one incoming edge follows it. A join fires
once: "all" when every edge has arrived and one was taken, "at least n" on the n-th taken one; when
that can no longer be, the node is unreachable. An edge that arrives at a join that has fired, at a
cancelled node, or in an iteration that failed or was cancelled, changes nothing. A loop over
arrivals begins with the first taken edge, and the others are further items (`core.arrivals`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tenuto.core.arrivals import arrived
from tenuto.core.keys import with_key
from tenuto.core.maps import with_item
from tenuto.core.plan import Plan, PlannedNode
from tenuto.core.state import InstanceState, Join
from tenuto.model.graph import BODY, Edge
from tenuto.model.ids import NodeKey


def arrive(plan: Plan, state: InstanceState, key: NodeKey, handles: Collection[str]) -> None:
    """The edges of `key` have arrived: taken on `handles`, else dead."""
    outgoing = plan.nodes[key.node].outgoing
    if outgoing:
        _arrive(plan, state, outgoing, key.iteration, handles)


def enter(plan: Plan, state: InstanceState, loop: str, iteration: str) -> None:
    """The edges from a loop into its body have been taken, in one of its iterations."""
    _arrive(plan, state, plan.nodes[loop].inward, iteration, (BODY,))


def _arrive(
    plan: Plan,
    state: InstanceState,
    edges: Iterable[Edge],
    iteration: str,
    handles: Collection[str],
) -> None:
    nodes = plan.nodes
    for edge in edges:
        target = NodeKey(edge.target, iteration)
        planned = nodes[edge.target]
        is_known = target in state.nodes and not planned.takes_arrivals
        if is_known or (iteration and _is_over(plan, state, target)):
            continue
        taken = edge.handle in handles
        if planned.takes_arrivals:
            arrived(plan, state, target, edge.source if taken else None)
            continue
        if len(planned.incoming) == 1:
            fires, fails = taken, not taken
        else:
            before = state.joins.get(target) or Join()
            if has_fired(planned, before):
                continue
            after = Join(before.taken + taken, before.dead + (not taken))
            state.joins = with_item(state.joins, target, after)
            fires, fails = has_fired(planned, after), can_never_fire(planned, after)
        if fires:
            state.ready = with_key(state.ready, target)
        elif fails:
            state.unreachable = with_key(state.unreachable, target)


def _is_over(plan: Plan, state: InstanceState, key: NodeKey) -> bool:
    """Whether nothing more begins in the iteration around a node."""
    loop = plan.nodes[key.node].loop
    around = None if loop is None else state.iterations.get(NodeKey(loop, key.iteration))
    return around is not None and around.is_over


def has_fired(planned: PlannedNode, join: Join) -> bool:
    """Whether the edges that have arrived let the node begin."""
    needed = planned.node.at_least
    if needed is None:
        return join.taken > 0 and join.taken + join.dead == len(planned.incoming)
    return join.taken >= needed


def can_never_fire(planned: PlannedNode, join: Join) -> bool:
    """Whether too many edges are dead for the node ever to begin."""
    needed = planned.node.at_least or 1
    return len(planned.incoming) - join.dead < needed
