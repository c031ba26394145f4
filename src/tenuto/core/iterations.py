"""Where the iterations of a loop stand, also of one that ended before they did.

A loop that ends with its instance keeps the iterations that were under way, since a retry goes on
with them: no entry says that they ended, and what became of them follows from their nodes.
"""

from __future__ import annotations

from msgspec import Struct

from tenuto.core.loop_entries import iterations_of
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.model.failure import Failure, LastError
from tenuto.model.ids import NodeKey, around
from tenuto.model.status import NodeStatus


class Unended(Struct, frozen=True):
    """An iteration without an entry that ends it."""

    status: NodeStatus
    """RUNNING, FAILED or CANCELLED."""
    error: Failure | LastError | None = None


class Progress(Struct, frozen=True):
    """How far a loop is, or was when it ended."""

    started: int
    done: int
    """Iterations that completed or failed, or were cancelled by themselves."""
    failed: int
    length: int | None
    """How many items there are; None: it goes on while a condition holds."""


def unended(plan: Plan, state: InstanceState, place: NodeKey) -> Unended | None:
    """What became of an iteration, given as its loop and its path; None: it has ended."""
    iteration = state.iterations.get(place)
    if iteration is None:
        return None
    if iteration.failure is not None:
        return Unended(NodeStatus.FAILED, iteration.failure)
    if state.nodes[NodeKey(place.node, around(place.iteration))].is_open:
        return Unended(NodeStatus.RUNNING)
    if (error := _failed_in(plan, state, place)) is not None:
        return Unended(NodeStatus.FAILED, error)
    is_stopping = _is_open_in(plan, state, place)
    return Unended(NodeStatus.RUNNING if is_stopping else NodeStatus.CANCELLED)


def progress_of(plan: Plan, state: InstanceState, key: NodeKey) -> Progress | None:
    """How far a loop is; None where its state is not kept."""
    loop = state.loops.get(key)
    if loop is None:
        return None
    failed = 0
    if not state.nodes[key].is_open:
        found = (unended(plan, state, place) for place in iterations_of(state, key))
        failed = sum(each is not None and each.status is NodeStatus.FAILED for each in found)
    return Progress(
        started=loop.started,
        done=loop.started - loop.active + failed,
        failed=len(loop.errors) + failed,
        length=None if loop.items is None else state.length_of(key),
    )


def _is_open_in(plan: Plan, state: InstanceState, place: NodeKey) -> bool:
    """Whether a step is open in an iteration, or in an iteration of a loop in it."""
    for name in plan.nodes[place.node].body:
        key = NodeKey(name, place.iteration)
        node = state.nodes.get(key)
        if node is not None and node.is_open:
            return True
        if any(_is_open_in(plan, state, inner) for inner in iterations_of(state, key)):
            return True
    return False


def _failed_in(plan: Plan, state: InstanceState, place: NodeKey) -> LastError | None:
    """The error of a step that failed in an iteration, and the instance with it."""
    for name in sorted(plan.nodes[place.node].body, key=plan.order_of):
        node = state.nodes.get(NodeKey(name, place.iteration))
        if node is not None and node.status is NodeStatus.FAILED:
            return node.error
    error = state.last_error
    if error is None or error.step_id not in plan.nodes:
        return None
    # It may be in a loop inside this one.
    loop, path = plan.nodes[error.step_id].loop, error.iteration
    while loop is not None and path:
        if NodeKey(loop, path) == place:
            return error
        loop, path = plan.nodes[loop].loop, around(path)
    return None
