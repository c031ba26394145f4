"""What a retry by hand does to the state: what failed, and what the failure withdrew, may begin.

A node that is re-opened is PENDING and ready: its join has fired before. It keeps the number of its
attempts and the input that it was given, unless that was edited, and nothing else: budget and
timeouts are fresh. A loop goes on with the iterations that it has. A node that ended well in its
grace is not re-opened; now its edges arrive.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from tenuto.core.arrivals import note_room
from tenuto.core.edges import arrive
from tenuto.core.keys import with_key
from tenuto.core.life import close_node, open_node
from tenuto.core.loop_entries import complete_loops
from tenuto.core.maps import with_item
from tenuto.core.plan import Plan
from tenuto.core.sla_entries import INSTANCE, set_again
from tenuto.core.state import InstanceState, NodeState
from tenuto.core.timing import set_timer
from tenuto.model.entries import RetryRequested
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.status import NodeStatus


def retry_requested(plan: Plan, state: InstanceState, entry: RetryRequested) -> None:
    """Take back the end, and what it did to nodes."""
    state.ending = state.last_error = state.completed_at = state.pause = None
    # Nothing of it was tried, or there would be no retry.
    state.compensation = None
    state.may_retry = True
    set_timer(state, TimerKey(TimerKind.DEADLINE), state.deadline, entry.at)
    set_again(state, INSTANCE, entry.at)
    held_back = held_back_by_end(state)
    fail_at = {each.key: each.at for each in entry.fail_at}
    for key, node in reopened_by_retry(plan, state):
        if key in state.loops:
            _reopen_loop(plan, state, key, node, entry.at)
            _bound(plan, state, key, entry.at, fail_at.get(key))
            note_room(plan, state, key)
        else:
            _reopen(plan, state, key, node)
    if (edited := entry.edited) is not None:
        given = replace(state.nodes[edited.key], input=edited.input)
        state.nodes = with_item(state.nodes, edited.key, given)
    for key in held_back:
        node = state.nodes[key]
        released = replace(node, is_withdrawn=False, held_back=(), grace_until=None)
        state.nodes = with_item(state.nodes, key, released)
        arrive(plan, state, key, node.held_back)
        complete_loops(plan, state, key)


def held_back_by_end(state: InstanceState) -> list[NodeKey]:
    """Nodes that the end cancelled and that completed all the same, in the order of completion."""
    found = [
        key
        for key, node in state.nodes.items()
        if node.is_withdrawn and node.written and not node.was_done
    ]
    return sorted(found, key=lambda key: state.nodes[key].written)


def reopened_by_retry(plan: Plan, state: InstanceState) -> list[tuple[NodeKey, NodeState]]:
    """Nodes that failed unhandled, or that the failure withdrew; loops before their bodies."""
    found = [
        (key, node) for key, node in state.nodes.items() if _is_reopened(plan, state, key, node)
    ]
    return sorted(found, key=lambda item: plan.place_of(item[0]))


def left_open(plan: Plan, state: InstanceState) -> list[NodeKey]:
    """Nodes that a quarantined instance left open, and that will not be re-opened."""
    found = [
        key for key in state.open_nodes() if not _is_reopened(plan, state, key, state.nodes[key])
    ]
    return sorted(found, key=plan.place_of)


def _is_reopened(plan: Plan, state: InstanceState, key: NodeKey, node: NodeState) -> bool:
    if _is_over_around(plan, state, key):
        return False
    if node.is_open:
        # A quarantined instance left it open; a part of the workflow may have cancelled it.
        return node.is_withdrawn or node.grace_until is None
    if node.status is NodeStatus.FAILED:
        # A failure that was handled has an output, or is that of its iteration.
        return not node.written or node.was_done
    return node.status is NodeStatus.CANCELLED and node.is_withdrawn


def _is_over_around(plan: Plan, state: InstanceState, key: NodeKey) -> bool:
    """Whether the iteration around a node has failed, was cancelled or has ended."""
    loop = plan.nodes[key.node].loop
    if loop is None:
        return False
    iteration = state.iterations.get(NodeKey(loop, key.iteration))
    return iteration is None or iteration.is_over


def _reopen(plan: Plan, state: InstanceState, key: NodeKey, node: NodeState) -> None:
    reopened = NodeState(
        status=NodeStatus.PENDING,
        attempt=node.attempt + 1,
        opened=node.opened,
        input=node.input,
        secrets=node.secrets,
        child_version=node.child_version,
        counted=node.counted,
        given_up=(*node.given_up, node.attempt) if _is_unheard(node) else node.given_up,
    )
    if node.is_open:
        close_node(plan, state, key, node, reopened)
    else:
        state.nodes = with_item(state.nodes, key, reopened)
    state.ready = with_key(state.ready, key)


def _is_unheard(node: NodeState) -> bool:
    """Whether an attempt was cancelled that may still report a result."""
    return node.status is NodeStatus.CANCELLED or node.is_in_flight


def _reopen_loop(
    plan: Plan, state: InstanceState, key: NodeKey, node: NodeState, at: datetime
) -> None:
    reopened = NodeState(
        status=NodeStatus.RUNNING,
        attempt=node.attempt + 1,
        opened=node.opened,
        started_at=at,
        is_loop=True,
        hears=key.node in plan.hearing,
    )
    if node.is_open:
        state.nodes = with_item(state.nodes, key, reopened)
    else:
        open_node(plan, state, key, reopened)
    loop = state.loops[key]
    state.loops = with_item(state.loops, key, replace(loop, fresh_from=loop.started))


def _bound(
    plan: Plan, state: InstanceState, key: NodeKey, at: datetime, fail_at: datetime | None
) -> None:
    """Set the timers of a loop: its `timeout` begins anew, and its SLA goes on."""
    timeout = plan.nodes[key.node].node.timeout
    if isinstance(timeout, timedelta):
        fail_at = at + timeout
    timer = TimerKey(TimerKind.NODE_TIMEOUT, key.node, key.iteration)
    set_timer(state, timer, fail_at, at)
    set_again(state, key, at)
