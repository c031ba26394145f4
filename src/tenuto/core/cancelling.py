"""Cancelling parts of an instance: running attempts get a grace period, the rest ends at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from tenuto.core.child_start import end_child
from tenuto.core.deciding import Deciding
from tenuto.core.loop_entries import iterations_of
from tenuto.core.plan import PlannedNode
from tenuto.core.state import NodeState, attempt_of
from tenuto.model.effects import CloseWait, StopAttempt
from tenuto.model.entries import HeldResult, NodeCancelled, NodeCancelRequested, NodeSkipped
from tenuto.model.graph import DEFAULT, DONE, Loop, SubWorkflow
from tenuto.model.ids import NodeKey
from tenuto.model.status import NodeStatus


def cancel_nodes(d: Deciding, keys: Iterable[NodeKey]) -> None:
    """Cancel those of `keys` that have not ended; nodes that never began are skipped."""
    for key in sorted(keys, key=d.plan.place_of):
        node = d.state.nodes.get(key)
        if node is None or node.status is NodeStatus.PENDING:
            pass_over(d, key, "cancelled")
        elif node.is_open:
            withdraw(d, key, node)


def cancel_rest(d: Deciding, key: NodeKey) -> None:
    """A join with `cancelRest` fired: cancel the nodes that could still have arrived at it."""
    cancel_nodes(d, rest_of(d, key))


def rest_of(d: Deciding, key: NodeKey) -> list[NodeKey]:
    """The nodes that could still arrive at a join."""
    late = [
        edge
        for edge in d.plan[key.node].incoming
        if not _has_ended(d, NodeKey(edge.source, key.iteration))
    ]
    return [NodeKey(name, key.iteration) for name in d.plan.reaching(late)]


def withdraw(d: Deciding, key: NodeKey, node: NodeState) -> None:
    """End an open node: a running attempt is asked to stop, anything else is cancelled at once.

    A child is withdrawn like waits and timers: it is notified and ends in its own time, and this
    instance does not wait for it.
    """
    if node.is_loop:
        places = iterations_of(d.state, key)
        cancelled(d, key, node.attempt)
        for place in places:
            if d.state.ending is not None and not d.has_room:
                break  # the next decision finds the open nodes of the other iterations
            cancel_iteration(d, place)
        return
    if isinstance(d.plan.nodes[key.node].node.config, SubWorkflow):
        cancelled(d, key, node.attempt)
        end_child(d, node)
        return
    if node.status is NodeStatus.RUNNING:
        if node.grace_until is None:
            d.emit(
                NodeCancelRequested(
                    at=d.now,
                    node=key.node,
                    iteration=key.iteration,
                    attempt=node.attempt,
                    grace_until=d.now + d.plan.cancel_grace,
                )
            )
            d.order(
                StopAttempt(
                    node=key.node,
                    iteration=key.iteration,
                    attempt=node.attempt,
                    grace=d.plan.cancel_grace,
                )
            )
        return
    if node.held is not None:
        _end_held(d, key, node, node.held)
        return
    cancelled(d, key, node.attempt)
    if node.listens:
        d.order(CloseWait(node=key.node, iteration=key.iteration, event_id=None))


def _end_held(d: Deciding, key: NodeKey, node: NodeState, held: HeldResult) -> None:
    """A task has done its work and asked for a delay: it has completed, and nothing follows it.

    After an end that a retry takes back, what follows begins then.
    """
    from tenuto.core.outcome import complete  # noqa: PLC0415 - a completed node cancels others

    d.emit(
        NodeCancelRequested(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=node.attempt,
            grace_until=d.now,
        )
    )
    complete(d, key, held.output, handles=(held.handle or DEFAULT,), attempt=node.attempt)


def cancel_iteration(d: Deciding, place: NodeKey) -> None:
    """Cancel the open nodes of an iteration, given as its loop and its path.

    These include nodes left open by an inner loop that ended early.
    """
    for name in d.plan.nodes[place.node].body:
        key = NodeKey(name, place.iteration)
        node = d.state.nodes.get(key)
        if node is None:
            continue
        if node.is_open:
            withdraw(d, key, node)
        elif node.is_loop:
            for late in iterations_of(d.state, key):
                cancel_iteration(d, late)


def pass_over(d: Deciding, key: NodeKey, reason: Literal["when", "dead-path", "cancelled"]) -> None:
    """Record that a node will not run."""
    attempt = attempt_of(d.state, key)
    d.emit(
        NodeSkipped(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            reason=reason,
            handles=passed_over_by(d.plan.nodes[key.node]) if reason == "when" else (),
        )
    )


def passed_over_by(planned: PlannedNode) -> tuple[str, ...]:
    """The handles, other than `default`, by which a node goes on that `when` passes over.

    A loop ends at `done`, and so does one that never begins, unless something hangs on `default`.
    """
    is_loop = isinstance(planned.node.config, Loop)
    return (DONE,) if is_loop and DEFAULT not in planned.handles else ()


def cancelled(d: Deciding, key: NodeKey, attempt: int) -> None:
    """Record that a node that had begun was cancelled."""
    d.emit(NodeCancelled(at=d.now, node=key.node, iteration=key.iteration, attempt=attempt))


def _has_ended(d: Deciding, key: NodeKey) -> bool:
    node = d.state.nodes.get(key)
    if node is None or node.status is NodeStatus.PENDING:
        return False
    return not node.is_open or node.grace_until is not None
