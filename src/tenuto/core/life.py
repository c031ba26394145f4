"""A node opens, changes and closes: what that does to the counts of its instance and iteration."""

from __future__ import annotations

from msgspec.structs import replace

from tenuto.core.keys import with_key, without_key
from tenuto.core.maps import with_item, without_item
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState, NodeState
from tenuto.core.timing import clear_node_timers
from tenuto.model.ids import NodeKey


def open_node(plan: Plan, state: InstanceState, key: NodeKey, node: NodeState) -> None:
    """A node has begun; nothing was known of it before."""
    state.nodes = with_item(state.nodes, key, node)
    state.open += 1
    if key in state.ready:
        state.ready = without_key(state.ready, key)
    state.running += node.is_in_flight
    state.open_waits += node.is_wait
    state.open_loops += node.is_loop
    if not key.iteration:
        state.open_steps = with_item(state.open_steps, key.node, 1)
        return
    count = state.open_steps.get(key.node, 0) + 1
    state.open_steps = with_item(state.open_steps, key.node, count)
    state.open_inside = with_item(state.open_inside, key, None)
    count_open(plan, state, key, 1)


def change_node(state: InstanceState, key: NodeKey, node: NodeState) -> None:
    """An open node has changed and is still open."""
    before = state.nodes[key]
    state.running += node.is_in_flight - before.is_in_flight
    state.stopping += (node.grace_until is not None) - (before.grace_until is not None)
    state.nodes = with_item(state.nodes, key, node)


def close_node(
    plan: Plan, state: InstanceState, key: NodeKey, before: NodeState | None, node: NodeState
) -> None:
    """A node has ended; `before` is what was known of it, if anything."""
    state.nodes = with_item(state.nodes, key, node)
    if before is None:
        state.ready = without_key(state.ready, key)
        state.unreachable = without_key(state.unreachable, key)
        return
    if key in state.ready:
        # It has its mutex, and had not begun.
        state.ready = without_key(state.ready, key)
    state.open -= 1
    state.running -= before.is_in_flight
    state.stopping -= before.grace_until is not None
    state.open_waits -= before.is_wait
    state.open_loops -= before.is_loop
    if state.timers:
        clear_node_timers(state, key, before)
    count = state.open_steps.get(key.node, 1) - 1 if key.iteration else 0
    state.open_steps = (
        with_item(state.open_steps, key.node, count)
        if count
        else without_item(state.open_steps, key.node)
    )
    if key.iteration:
        state.open_inside = without_item(state.open_inside, key)
        count_open(plan, state, key, -1)


def count_open(plan: Plan, state: InstanceState, key: NodeKey, change: int) -> None:
    """Something of `key`, the node itself or an iteration of it, opened or closed inside a loop."""
    loop = plan.nodes[key.node].loop
    assert loop is not None
    around = NodeKey(loop, key.iteration)
    iteration = state.iterations.get(around)
    if iteration is None:
        return  # an invalid log: there is no iteration to count in
    iteration = replace(iteration, open=iteration.open + change)
    state.iterations = with_item(state.iterations, around, iteration)
    if iteration.open:
        state.quiet = without_key(state.quiet, around)
    else:
        state.quiet = with_key(state.quiet, around)
