"""What each entry of a node does to the state: the node, its edges, timers and variables."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace

from tenuto.core.edges import arrive
from tenuto.core.maps import with_item, without_item
from tenuto.core.plan import Plan
from tenuto.core.state import Ending, InstanceState, NodeState, Variable
from tenuto.core.timing import clear_node_timers, clear_timer, set_timer
from tenuto.model.entries import (
    NodeCancelled,
    NodeCancelRequested,
    NodeCompleted,
    NodeDispatched,
    NodeFailed,
    NodeSkipped,
    RetryScheduled,
    TimerSet,
    WaitOpened,
    WaitResolved,
)
from tenuto.model.failure import STOPPED, TERMINATED, LastError
from tenuto.model.graph import DEFAULT, End, Terminate
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.json import JSON, Object, size_of
from tenuto.model.status import NodeStatus, Status

_RUNNING, _COMPLETED = NodeStatus.RUNNING, NodeStatus.COMPLETED


def dispatched(state: InstanceState, entry: NodeDispatched) -> None:
    key = entry.key
    before = state.nodes.get(key)
    if before is None:
        node = NodeState(
            status=_RUNNING,
            attempt=entry.attempt,
            opened=state.version,
            started_at=entry.at,
            input=entry.input,
        )
        _open(state, key, node)
    else:
        _change(state, key, replace(before, status=_RUNNING, attempt=entry.attempt))
        clear_timer(state, TimerKey(TimerKind.RETRY, key.node, key.iteration))


def completed(plan: Plan, state: InstanceState, entry: NodeCompleted) -> None:
    key = entry.key
    known = state.nodes.get(key)
    before = known or NodeState(status=_RUNNING, opened=state.version, started_at=entry.at)
    succeeded = entry.status == "success"
    node = replace(
        before,
        status=_COMPLETED if succeeded else NodeStatus.FAILED,
        attempt=entry.attempt,
        losses=0,
        completed_at=entry.at,
        input=UNSET,
        output=entry.output,
        written=state.version,
    )
    _close(state, key, known, node)
    # A node that was being called off finished all the same: its edges died when it was told to
    # stop.
    if before.grace_until is None:
        arrive(plan, state, key, entry.handles)
    _write_variables(state, entry)
    config = plan.nodes[key.node].node.config
    if isinstance(config, End):
        state.output = _merged(state.output, entry.output)
    elif isinstance(config, Terminate) and succeeded and state.ending is None:
        _terminate(state, config, entry)


def failed(state: InstanceState, entry: NodeFailed) -> None:
    key = entry.key
    known = state.nodes.get(key)
    before = known or NodeState(status=_RUNNING, opened=state.version, started_at=entry.at)
    code = entry.error.code
    # The code alone does not tell: a task may report any code, also one of ours.
    was_lost = not entry.counts and code != STOPPED
    error = LastError(
        code=code,
        message=entry.error.message,
        details=entry.error.details,
        step_id=entry.node,
        iteration=entry.iteration,
        attempt=entry.attempt,
        at=entry.at,
    )
    node = replace(
        before,
        attempt=entry.attempt,
        failures=before.failures + entry.counts,
        losses=0 if entry.counts else before.losses + was_lost,
        error=error,
    )
    if entry.then == "fail":
        _close(state, key, known, replace(node, status=NodeStatus.FAILED, completed_at=entry.at))
        state.last_error = state.last_error or error
        state.ending = state.ending or Ending(because="failed", status=Status.FAILED)
    elif known is not None:
        # Another entry follows that says what becomes of the node.
        _change(state, key, node)
    else:
        _open(state, key, node)


def skipped(plan: Plan, state: InstanceState, entry: NodeSkipped) -> None:
    key = entry.key
    node = NodeState(status=NodeStatus.SKIPPED, opened=state.version, completed_at=entry.at)
    _close(state, key, None, node)
    arrive(plan, state, key, (DEFAULT,) if entry.reason == "when" else ())


def cancelled(plan: Plan, state: InstanceState, entry: NodeCancelled) -> None:
    key = entry.key
    before = state.nodes[key]
    node = replace(before, status=NodeStatus.CANCELLED, completed_at=entry.at, input=UNSET)
    _close(state, key, before, node)
    if before.grace_until is None:
        arrive(plan, state, key, ())


def cancel_requested(plan: Plan, state: InstanceState, entry: NodeCancelRequested) -> None:
    key = entry.key
    _change(state, key, replace(state.nodes[key], grace_until=entry.grace_until))
    arrive(plan, state, key, ())
    _set_node_timer(state, TimerKind.GRACE, key, entry.grace_until, entry.at)


def retry_scheduled(state: InstanceState, entry: RetryScheduled) -> None:
    key = entry.key
    _change(state, key, replace(state.nodes[key], status=NodeStatus.RETRYING))
    _set_node_timer(state, TimerKind.RETRY, key, entry.due, entry.at)


def wait_opened(state: InstanceState, entry: WaitOpened) -> None:
    key = entry.key
    _open(state, key, _waiting(state, entry, is_wait=True))
    _set_node_timer(state, TimerKind.WAIT_TIMEOUT, key, entry.timeout_at, entry.at)
    _set_node_timer(state, TimerKind.NODE_TIMEOUT, key, entry.fail_at, entry.at)


def wait_resolved(state: InstanceState, entry: WaitResolved) -> None:
    if entry.event_id is not None:
        state.taken_events = with_item(state.taken_events, entry.event_id, None)


def timer_set(state: InstanceState, entry: TimerSet) -> None:
    key = entry.key
    _open(state, key, _waiting(state, entry, is_wait=False))
    _set_node_timer(state, TimerKind.DELAY, key, entry.due, entry.at)
    _set_node_timer(state, TimerKind.NODE_TIMEOUT, key, entry.fail_at, entry.at)


def _waiting(state: InstanceState, entry: WaitOpened | TimerSet, *, is_wait: bool) -> NodeState:
    return NodeState(
        status=NodeStatus.WAITING,
        attempt=entry.attempt,
        opened=state.version,
        started_at=entry.at,
        is_wait=is_wait,
    )


def _set_node_timer(
    state: InstanceState, kind: TimerKind, key: NodeKey, due: datetime | None, at: datetime
) -> None:
    set_timer(state, TimerKey(kind, key.node, key.iteration), due, at)


def _open(state: InstanceState, key: NodeKey, node: NodeState) -> None:
    """A node has begun; nothing was known of it before."""
    state.nodes = with_item(state.nodes, key, node)
    state.open = with_item(state.open, key, None)
    state.ready.pop(key, None)
    state.running += node.status is _RUNNING
    state.open_waits += node.is_wait


def _change(state: InstanceState, key: NodeKey, node: NodeState) -> None:
    """An open node has changed and is still open."""
    state.running += (node.status is _RUNNING) - (state.nodes[key].status is _RUNNING)
    state.nodes = with_item(state.nodes, key, node)


def _close(state: InstanceState, key: NodeKey, before: NodeState | None, node: NodeState) -> None:
    """A node has ended; `before` is what was known of it, if anything."""
    state.nodes = with_item(state.nodes, key, node)
    if before is None:
        state.ready.pop(key, None)
        state.doomed.pop(key, None)
    else:
        state.open = without_item(state.open, key)
        state.running -= before.status is _RUNNING
        state.open_waits -= before.is_wait
        clear_node_timers(state, key)


def _terminate(state: InstanceState, config: Terminate, entry: NodeCompleted) -> None:
    if config.status == "COMPLETED":
        state.ending = Ending(because="terminated", status=Status.COMPLETED, output=entry.output)
        return
    reason = entry.output.get("reason") if isinstance(entry.output, dict) else None
    error = LastError(
        code=TERMINATED,
        message=reason if isinstance(reason, str) else "terminated",
        step_id=entry.node,
        iteration=entry.iteration,
        attempt=entry.attempt,
        at=entry.at,
    )
    state.last_error = state.last_error or error
    state.ending = Ending(because="terminated", status=Status.FAILED)


def _write_variables(state: InstanceState, entry: NodeCompleted) -> None:
    if entry.variable is None and entry.variables is None:
        return
    written = written_by(entry.variable, entry.output, entry.variables)
    state.context_bytes = context_size(state, written)
    for name, value in written.items():
        variable = Variable(value, state.version, size_of(value))
        state.variables = with_item(state.variables, name, variable)


def context_size(state: InstanceState, written: Object) -> int:
    """How long the JSON of all variables is once `written` is among them."""
    total = state.context_bytes
    for name, value in written.items():
        before = state.variables.get(name)
        total += size_of(value) - (before.size if before is not None else 0)
    return total


def written_by(variable: str | None, output: JSON, mapped: Object | None) -> Object:
    """What a node writes into the context: its output under its name, then mapped names."""
    written = {} if variable is None else {variable: output}
    return written if mapped is None else {**written, **mapped}


def _merged(before: object, output: JSON) -> JSON:
    if isinstance(before, dict) and isinstance(output, dict):
        return {**before, **output}
    return output
