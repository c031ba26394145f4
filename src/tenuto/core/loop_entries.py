"""What each entry of a loop does to the state: iterations with variables of their own."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET
from msgspec.structs import replace

from tenuto.core.arrivals import note_room
from tenuto.core.edges import enter
from tenuto.core.keys import with_key, without_key
from tenuto.core.life import count_open, open_node
from tenuto.core.maps import with_item, without_item
from tenuto.core.plan import Plan
from tenuto.core.scope import names_of_iteration
from tenuto.core.sla_entries import forget
from tenuto.core.state import (
    Added,
    InstanceState,
    Iteration,
    LoopState,
    NodeState,
    PastIteration,
    Variable,
)
from tenuto.core.timing import set_timer
from tenuto.model.entries import IterationEnded, IterationStarted, NodeFailed, NodeSkipped
from tenuto.model.graph import Loop
from tenuto.model.ids import NodeKey, around, index_of, iteration_of
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.json import JSON, Object, size_of
from tenuto.model.status import NodeStatus


def iteration_started(plan: Plan, state: InstanceState, entry: IterationStarted) -> None:
    key = entry.loop
    if key not in state.loops:
        _enter_loop(plan, state, key, entry)
    loop = state.loops[key]
    iteration = Iteration(variables=loop.variables, size=loop.size)
    state.iterations = with_item(state.iterations, entry.key, iteration)
    loop = replace(loop, started=loop.started + 1, active=loop.active + 1)
    state.loops = with_item(state.loops, key, loop)
    # An iteration may outlive its loop: the one around both has to wait for each.
    if key.iteration:
        count_open(plan, state, key, 1)
    enter(plan, state, entry.node, entry.iteration)
    state.quiet = with_key(state.quiet, entry.key)
    note_room(plan, state, key)


def iteration_ended(plan: Plan, state: InstanceState, entry: IterationEnded) -> None:
    key = entry.loop
    loop, iteration = state.loops[key], state.iterations[entry.key]
    is_kept = entry.node in plan.undoable_loops and _keep(plan, state, entry, loop, iteration)
    loop = _with_outcome(replace(loop, active=loop.active - 1), entry)
    if _asks_for_results(plan, entry.node) and (entry.status == "success" or entry.error):
        ended = with_item(loop.ended, len(loop.ended), index_of(entry.iteration))
        loop = replace(loop, ended=ended)
    if _is_parallel(plan, entry.node):
        state.context_bytes -= iteration.size
    else:
        # The next iteration goes on from here.
        loop = replace(loop, variables=iteration.variables, size=iteration.size)
    state.loops = with_item(state.loops, key, loop)
    state.iterations = without_item(state.iterations, entry.key)
    state.quiet = without_key(state.quiet, entry.key)
    if key.iteration:
        count_open(plan, state, key, -1)
    forget_waiting(plan, state, entry.key)
    for name in plan.nodes[entry.node].body:
        inner = NodeKey(name, entry.iteration)
        node = state.nodes.get(inner)
        # A cancelled node may still get a late result.
        if node is not None and not is_kept and node.status is not NodeStatus.CANCELLED:
            state.nodes = without_item(state.nodes, inner)
            _forget_loop(state, inner)
        if inner in state.joins:
            state.joins = without_item(state.joins, inner)
        if state.sla:
            forget(state, inner)
        # What is undone in an iteration of this loop sees its arrival.
        if inner in state.arrivals and not is_kept:
            state.arrivals = without_item(state.arrivals, inner)
    note_room(plan, state, key)
    leave_loop(state, key)


def item_skipped(plan: Plan, state: InstanceState, entry: NodeSkipped) -> None:
    """An item never begins: its loop has enough, and ends after the last one."""
    key = NodeKey(entry.node, around(entry.iteration))
    loop = state.loops[key]
    state.loops = with_item(
        state.loops, key, replace(loop, skipped=loop.skipped + 1, has_enough=True)
    )
    note_room(plan, state, key)


def item_added(
    plan: Plan, state: InstanceState, key: NodeKey, item: JSON, event_id: str | None
) -> None:
    """An item was appended to a loop under way; it begins as soon as there is room."""
    loop = state.loops[key]
    added = with_item(loop.added, loop.length, Added(item, event_id))
    size = loop.items_size + size_of(item)
    heard = loop.heard if event_id is None else with_item(loop.heard, event_id, None)
    state.loops = with_item(
        state.loops, key, replace(loop, added=added, heard=heard, items_size=size)
    )
    note_room(plan, state, key)


def complete_loops(plan: Plan, state: InstanceState, key: NodeKey) -> None:
    """A step was done that `completes` loops: those under way end with what they have."""
    for name in plan.nodes[key.node].node.completes:
        named = plan.seen_from(key, name)
        node, loop = state.nodes.get(named), state.loops.get(named)
        if node is not None and node.is_open and loop is not None:
            ending = replace(loop, has_enough=True, ends_all=True)
            state.loops = with_item(state.loops, named, ending)
            note_room(plan, state, named)


def _keep(
    plan: Plan,
    state: InstanceState,
    entry: IterationEnded,
    loop: LoopState,
    iteration: Iteration,
) -> bool:
    """Keep the variables of an ended iteration, if anything in it may have to be undone.

    They count as context, since a long loop would otherwise keep data without bounds.
    """
    body = plan.nodes[entry.node].body
    if not iteration.has_undo and not any(
        _may_be_undone(plan, state.nodes.get(NodeKey(name, entry.iteration)), name) for name in body
    ):
        return False
    state.context_bytes += _kept_bytes(plan, state, entry, loop, iteration)
    is_arrival = plan.nodes[entry.node].takes_arrivals
    names = {} if is_arrival else names_of_iteration(state, entry.key)
    is_added = index_of(entry.iteration) >= len(loop.items or ()) and loop.items is not None
    past = PastIteration(variables=iteration.variables, names=names, is_added=is_added)
    state.past = with_item(state.past, entry.key, past)
    outer = plan.nodes[entry.node].loop
    if outer is not None:
        place = NodeKey(outer, around(entry.iteration))
        noted = replace(state.iterations[place], has_undo=True)
        state.iterations = with_item(state.iterations, place, noted)
    return True


def _kept_bytes(
    plan: Plan,
    state: InstanceState,
    entry: IterationEnded,
    loop: LoopState,
    iteration: Iteration,
) -> int:
    """How long the JSON is of the variables that an iteration wrote, and of its other outputs."""
    size = sum(
        variable.size
        for name, variable in iteration.variables.items()
        if loop.variables.get(name) is not variable
    )
    for name in plan.nodes[entry.node].body:
        node = state.nodes.get(NodeKey(name, entry.iteration))
        is_variable = plan.nodes[name].node.output_variable is not None
        if node is not None and node.output is not None and not is_variable:
            size += size_of(node.output)
    return size


def _may_be_undone(plan: Plan, node: NodeState | None, name: str) -> bool:
    if node is None or not node.leaves_work:
        return False
    return node.can_be_undone or name in plan.undone_by


def item_failed(plan: Plan, state: InstanceState, entry: NodeFailed) -> None:
    """A node failed, and its iteration with it: nothing more of that begins."""
    loop = plan.nodes[entry.node].loop
    assert loop is not None
    key = NodeKey(loop, entry.iteration)
    iteration = state.iterations[key]
    if iteration.failure is None:
        failed = replace(iteration, failure=entry.error)
        state.iterations = with_item(state.iterations, key, failed)
    forget_waiting(plan, state, key)
    _cancel_inner(plan, state, key)


def forget_waiting(plan: Plan, state: InstanceState, iteration: NodeKey) -> None:
    """What of an iteration has not begun will not begin."""
    for name in plan.nodes[iteration.node].body:
        inner = NodeKey(name, iteration.iteration)
        state.ready = without_key(state.ready, inner)
        state.unreachable = without_key(state.unreachable, inner)


def iterations_of(state: InstanceState, loop: NodeKey) -> list[NodeKey]:
    """The iterations of a loop that are under way, in order."""
    known = state.loops.get(loop)
    found: list[NodeKey] = []
    if known is not None:
        # Those that began last are looked at first: few others are still under way.
        for index in reversed(range(known.started)):
            if len(found) == known.active:
                break
            key = NodeKey(loop.node, iteration_of(loop.iteration, index))
            if key in state.iterations:
                found.append(key)
    return found[::-1]


def close_loop(plan: Plan, state: InstanceState, key: NodeKey, *, may_go_on: bool) -> None:
    """A loop has its outcome. Its open iterations end by themselves, or are cancelled.

    A loop that ends with its instance (`may_go_on`) keeps the nodes that were about to begin: a
    retry re-opens it.
    """
    loop = state.loops.get(key)
    is_cancelled = (
        state.nodes[key].status is not NodeStatus.COMPLETED
        or plan.nodes[key.node].node.cancel_rest
        or (loop is not None and loop.ends_all)
    )
    if is_cancelled and not may_go_on:
        for iteration in iterations_of(state, key):
            _cancel_iteration(plan, state, iteration)
    state.short = without_key(state.short, key)
    state.enough = without_key(state.enough, key)
    leave_loop(state, key)


def _cancel_iteration(plan: Plan, state: InstanceState, place: NodeKey) -> None:
    """Nothing more begins in an iteration, nor in open iterations of loops inside it."""
    cancelled = replace(state.iterations[place], called_off=True)
    state.iterations = with_item(state.iterations, place, cancelled)
    forget_waiting(plan, state, place)
    _cancel_inner(plan, state, place)


def _cancel_inner(plan: Plan, state: InstanceState, place: NodeKey) -> None:
    for name in plan.nodes[place.node].body:
        if plan.nodes[name].body:
            for inner in iterations_of(state, NodeKey(name, place.iteration)):
                _cancel_iteration(plan, state, inner)


def errors_of(state: InstanceState, key: NodeKey) -> list[JSON]:
    """What went wrong in single iterations of a loop, in order."""
    loop = state.loops.get(key)
    return [] if loop is None else [loop.errors[index] for index in sorted(loop.errors)]


def leave_loop(state: InstanceState, key: NodeKey) -> None:
    """Forget a loop that is over, once no iteration of it is under way."""
    loop = state.loops.get(key)
    # An instance that fails keeps the loop as it is: it may be retried.
    is_over = loop is not None and state.ending is None and not state.nodes[key].is_open
    if is_over and loop is not None and not loop.active:
        _forget_loop(state, key)


def _forget_loop(state: InstanceState, key: NodeKey) -> None:
    """Of a node in an iteration it may be left over: it failed while its instance was failing."""
    loop = state.loops.get(key)
    if loop is not None:
        state.context_bytes -= loop.size
        state.loops = without_item(state.loops, key)


def _enter_loop(plan: Plan, state: InstanceState, key: NodeKey, entry: IterationStarted) -> None:
    items = None if entry.items is UNSET else entry.items
    if plan.nodes[key.node].takes_arrivals:
        items = []
    loop = LoopState(
        items=items,
        items_size=0 if items is None else size_of(items),
        variables=variables_at(plan, state, key),
    )
    state.loops = with_item(state.loops, key, loop)
    node = NodeState(
        status=NodeStatus.RUNNING,
        attempt=entry.attempt,
        opened=state.version,
        started_at=entry.at,
        is_loop=True,
        hears=key.node in plan.hearing,
    )
    open_node(plan, state, key, node)
    timer = TimerKey(TimerKind.NODE_TIMEOUT, key.node, key.iteration)
    set_timer(state, timer, entry.fail_at, entry.at)


def variables_at(plan: Plan, state: InstanceState, key: NodeKey) -> Mapping[str, Variable]:
    """The variables that a node sees: its iteration's, or those of the instance."""
    loop = plan.nodes[key.node].loop
    if loop is None:
        return state.variables
    return state.iterations[NodeKey(loop, key.iteration)].variables


def _with_outcome(loop: LoopState, entry: IterationEnded) -> LoopState:
    index = index_of(entry.iteration)
    if entry.status == "success":
        return replace(
            loop,
            succeeded=loop.succeeded + 1,
            results=with_item(loop.results, index, entry.output),
            results_size=loop.results_size + size_of(entry.output),
            last=entry.output,
        )
    if entry.error is None:
        return loop
    return replace(loop, errors=with_item(loop.errors, index, _as_seen(index, entry)), last=None)


def _as_seen(index: int, entry: IterationEnded) -> Object:
    assert entry.error is not None
    error: JSON = {
        "code": entry.error.code,
        "message": entry.error.message,
        "details": entry.error.details,
    }
    return {"index": index, "error": error}


def _asks_for_results(plan: Plan, loop: str) -> bool:
    config = plan.nodes[loop].node.config
    return isinstance(config, Loop) and isinstance(config.enough, str)


def _is_parallel(plan: Plan, loop: str) -> bool:
    config = plan.nodes[loop].node.config
    return isinstance(config, Loop) and config.is_parallel
