"""Loops over arrivals: each taken incoming edge is an item, whenever it comes.

Such a loop begins with its first taken edge. It is over once every edge has arrived, taken or dead,
and every iteration has ended; in between there may be no iteration under way.
"""

from __future__ import annotations

from tenuto.core.keys import with_key, without_key
from tenuto.core.maps import with_item
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState, Join, LoopState
from tenuto.model.graph import Loop
from tenuto.model.ids import NodeKey


def arrived(plan: Plan, state: InstanceState, key: NodeKey, source: str | None) -> None:
    """An edge has arrived at a loop: taken, from `source`, or dead.

    It is kept whatever the loop's state is: one that ended with its instance may be re-opened.
    """
    before = state.joins.get(key) or Join()
    is_dead = source is None
    join = Join(before.taken + (not is_dead), before.dead + is_dead)
    state.joins = with_item(state.joins, key, join)
    if source is not None:
        known = state.arrivals.get(key, ())
        state.arrivals = with_item(state.arrivals, key, (*known, source))
    if key in state.nodes:
        note_room(plan, state, key)
    elif join.taken:
        state.ready = with_key(state.ready, key)
    elif not may_arrive(plan, state, key):
        state.unreachable = with_key(state.unreachable, key)


def may_arrive(plan: Plan, state: InstanceState, key: NodeKey) -> bool:
    """Whether a loop takes arrivals and has an edge that is neither taken nor dead yet."""
    planned = plan.nodes[key.node]
    join = state.joins.get(key) or Join()
    return planned.takes_arrivals and join.taken + join.dead < len(planned.incoming)


def note_room(plan: Plan, state: InstanceState, key: NodeKey) -> None:
    """Take note whether a loop may go on, since an iteration began or ended, or an item came."""
    loop = state.loops.get(key)
    if loop is not None and loop.has_enough and state.nodes[key].is_open:
        state.enough = with_key(state.enough, key)
        state.short = without_key(state.short, key)
        return
    state.enough = without_key(state.enough, key)
    if loop is not None and state.nodes[key].is_open and _goes_on(plan, state, key, loop):
        state.short = with_key(state.short, key)
    else:
        state.short = without_key(state.short, key)


def _goes_on(plan: Plan, state: InstanceState, key: NodeKey, loop: LoopState) -> bool:
    if loop.items is None:
        return False
    if loop.started < state.length_of(key):
        return loop.active < width_of(plan, key.node)
    is_idle = plan.nodes[key.node].takes_arrivals and not loop.active
    return is_idle and not may_arrive(plan, state, key)


def width_of(plan: Plan, loop: str) -> int:
    """How many iterations of a loop may be under way at once."""
    config = plan.nodes[loop].node.config
    return config.concurrency if isinstance(config, Loop) and config.is_parallel else 1
