"""What each entry of a node does to the state: the node, its edges, timers and variables."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import UNSET
from msgspec.structs import replace

from tenuto.core.edges import arrived
from tenuto.core.plan import Plan
from tenuto.core.state import Ending, InstanceState, NodeState, Variable
from tenuto.core.timing import with_timer, without_node_timers, without_timer
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

_RUNNING = NodeStatus.RUNNING


def dispatched(state: InstanceState, entry: NodeDispatched) -> InstanceState:
    key = entry.key
    before = state.nodes.get(key)
    if before is None:
        node = NodeState(
            status=NodeStatus.RUNNING,
            attempt=entry.attempt,
            opened=state.version + 1,
            started_at=entry.at,
            input=entry.input,
        )
        return _opened(state, key, node)
    node = replace(before, status=NodeStatus.RUNNING, attempt=entry.attempt)
    return without_timer(_with_node(state, key, node), TimerKey(TimerKind.RETRY, *key))


def completed(plan: Plan, state: InstanceState, entry: NodeCompleted) -> InstanceState:
    key = entry.key
    seq = state.version + 1
    before = state.nodes.get(key) or NodeState(
        status=NodeStatus.RUNNING, opened=seq, started_at=entry.at
    )
    succeeded = entry.status == "success"
    node = replace(
        before,
        status=NodeStatus.COMPLETED if succeeded else NodeStatus.FAILED,
        attempt=entry.attempt,
        losses=0,
        completed_at=entry.at,
        input=UNSET,
        output=entry.output,
        written=seq,
    )
    # A node that was being called off finished all the same: its edges died when it was told to
    # stop.
    handles = entry.handles if before.grace_until is None else None
    after = _closed(plan, state, key, node, handles)
    after = _with_variables(after, entry, seq)
    config = plan[key.node].node.config
    if isinstance(config, End):
        return replace(after, output=_merged(state.output, entry.output))
    if isinstance(config, Terminate) and succeeded and state.ending is None:
        return _terminated(after, config, entry)
    return after


def failed(plan: Plan, state: InstanceState, entry: NodeFailed) -> InstanceState:
    key = entry.key
    before = state.nodes.get(key) or NodeState(
        status=NodeStatus.RUNNING, opened=state.version + 1, started_at=entry.at
    )
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
    if entry.then != "fail":
        # Another entry follows that says what becomes of the node.
        return _with_node(state, key, node) if key in state.nodes else _opened(state, key, node)
    node = replace(node, status=NodeStatus.FAILED, completed_at=entry.at)
    after = _closed(plan, state, key, node, None)
    return replace(
        after,
        last_error=state.last_error or error,
        ending=state.ending or Ending(because="failed", status=Status.FAILED),
    )


def skipped(plan: Plan, state: InstanceState, entry: NodeSkipped) -> InstanceState:
    node = NodeState(status=NodeStatus.SKIPPED, opened=state.version + 1, completed_at=entry.at)
    handles = (DEFAULT,) if entry.reason == "when" else ()
    return _closed(plan, state, entry.key, node, handles)


def cancelled(plan: Plan, state: InstanceState, entry: NodeCancelled) -> InstanceState:
    before = state.nodes[entry.key]
    node = replace(before, status=NodeStatus.CANCELLED, completed_at=entry.at, input=UNSET)
    return _closed(plan, state, entry.key, node, () if before.grace_until is None else None)


def cancel_requested(plan: Plan, state: InstanceState, entry: NodeCancelRequested) -> InstanceState:
    key = entry.key
    node = replace(state.nodes[key], grace_until=entry.grace_until)
    after = arrived(plan, _with_node(state, key, node), key, ())
    return with_timer(after, TimerKey(TimerKind.GRACE, *key), entry.grace_until, entry.at)


def retry_scheduled(state: InstanceState, entry: RetryScheduled) -> InstanceState:
    key = entry.key
    node = replace(state.nodes[key], status=NodeStatus.RETRYING)
    after = _with_node(state, key, node)
    return with_timer(after, TimerKey(TimerKind.RETRY, *key), entry.due, entry.at)


def wait_opened(state: InstanceState, entry: WaitOpened) -> InstanceState:
    key = entry.key
    node = NodeState(
        status=NodeStatus.WAITING,
        attempt=entry.attempt,
        opened=state.version + 1,
        started_at=entry.at,
        is_wait=True,
    )
    after = _opened(state, key, node)
    after = with_timer(after, TimerKey(TimerKind.WAIT_TIMEOUT, *key), entry.timeout_at, entry.at)
    return with_timer(after, TimerKey(TimerKind.NODE_TIMEOUT, *key), entry.fail_at, entry.at)


def wait_resolved(state: InstanceState, entry: WaitResolved) -> InstanceState:
    if entry.event_id is None:
        return state
    return replace(state, taken_events=state.taken_events.insert(entry.event_id, None))


def timer_set(state: InstanceState, entry: TimerSet) -> InstanceState:
    key = entry.key
    node = NodeState(
        status=NodeStatus.WAITING,
        attempt=entry.attempt,
        opened=state.version + 1,
        started_at=entry.at,
    )
    after = _opened(state, key, node)
    after = with_timer(after, TimerKey(TimerKind.DELAY, *key), entry.due, entry.at)
    return with_timer(after, TimerKey(TimerKind.NODE_TIMEOUT, *key), entry.fail_at, entry.at)


def _opened(state: InstanceState, key: NodeKey, node: NodeState) -> InstanceState:
    """A node has begun; nothing was known of it before."""
    return replace(
        state,
        nodes=state.nodes.insert(key, node),
        open=state.open.insert(key, None),
        ready=state.ready.discard(key),
        running=state.running + (node.status is _RUNNING),
        open_waits=state.open_waits + node.is_wait,
    )


def _with_node(state: InstanceState, key: NodeKey, node: NodeState) -> InstanceState:
    """An open node has changed and is still open."""
    before = state.nodes[key]
    return replace(
        state,
        nodes=state.nodes.insert(key, node),
        running=state.running + (node.status is _RUNNING) - (before.status is _RUNNING),
    )


def _closed(
    plan: Plan,
    state: InstanceState,
    key: NodeKey,
    node: NodeState,
    handles: Collection[str] | None,
) -> InstanceState:
    """A node has ended; `handles` None leaves its edges as they are."""
    before = state.nodes.get(key)
    if before is None:
        state = replace(
            state,
            nodes=state.nodes.insert(key, node),
            ready=state.ready.discard(key),
            doomed=state.doomed.discard(key),
        )
    else:
        state = replace(
            state,
            nodes=state.nodes.insert(key, node),
            open=state.open.discard(key),
            running=state.running - (before.status is _RUNNING),
            open_waits=state.open_waits - before.is_wait,
        )
        state = without_node_timers(state, key)
    return state if handles is None else arrived(plan, state, key, handles)


def _terminated(state: InstanceState, config: Terminate, entry: NodeCompleted) -> InstanceState:
    if config.status == "COMPLETED":
        return replace(
            state,
            ending=Ending(because="terminated", status=Status.COMPLETED, output=entry.output),
        )
    reason = entry.output.get("reason") if isinstance(entry.output, dict) else None
    error = LastError(
        code=TERMINATED,
        message=reason if isinstance(reason, str) else "terminated",
        step_id=entry.node,
        iteration=entry.iteration,
        attempt=entry.attempt,
        at=entry.at,
    )
    return replace(
        state,
        last_error=state.last_error or error,
        ending=Ending(because="terminated", status=Status.FAILED),
    )


def _with_variables(state: InstanceState, entry: NodeCompleted, seq: int) -> InstanceState:
    written = written_by(entry.variable, entry.output, entry.variables)
    if not written:
        return state
    total = context_size(state, written)
    variables = state.variables
    for name, value in written.items():
        variables = variables.insert(name, Variable(value, seq, size_of(value)))
    return replace(state, variables=variables, context_bytes=total)


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
