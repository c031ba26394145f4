"""What each entry of a node does to the state: the node, its edges, timers and variables."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace

from tenuto.core.edges import arrive
from tenuto.core.keys import with_key, without_key
from tenuto.core.life import change_node, close_node, open_node
from tenuto.core.loop_entries import (
    close_loop,
    complete_loops,
    errors_of,
    item_added,
    item_failed,
    item_skipped,
    variables_at,
)
from tenuto.core.maps import with_item
from tenuto.core.plan import Plan
from tenuto.core.sla_entries import forget
from tenuto.core.state import Asked, Counted, Ending, InstanceState, NodeState, Variable
from tenuto.core.timing import clear_timer, set_timer
from tenuto.model.approvals import People
from tenuto.model.durations import epoch_ms
from tenuto.model.entries import (
    ChildStarted,
    MutexGranted,
    MutexRequested,
    NodeCancelled,
    NodeCancelRequested,
    NodeCompleted,
    NodeDispatched,
    NodeFailed,
    NodeSkipped,
    RetryScheduled,
    TimerFired,
    TimerSet,
    WaitOpened,
    WaitResolved,
)
from tenuto.model.failure import STOPPED, TERMINATED, Failure, LastError
from tenuto.model.graph import DEFAULT, Config, End, Terminate
from tenuto.model.ids import NodeKey, around
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.json import JSON, Object, size_of
from tenuto.model.status import NodeStatus, Status

_RUNNING, _COMPLETED = NodeStatus.RUNNING, NodeStatus.COMPLETED
_PENDING = NodeStatus.PENDING


def dispatched(plan: Plan, state: InstanceState, entry: NodeDispatched) -> None:
    key = entry.key
    before = state.nodes.get(key)
    if before is None:
        node = NodeState(
            status=_RUNNING,
            attempt=entry.attempt,
            opened=state.version,
            started_at=entry.at,
            timeout_at=entry.timeout_at,
            input=entry.input,
            secrets=entry.secrets,
        )
        open_node(plan, state, key, node)
    elif before.status is NodeStatus.WAITING and before.mutex is not None:
        node = replace(
            before,
            status=_RUNNING,
            attempt=entry.attempt,
            started_at=entry.at,
            timeout_at=entry.timeout_at,
            input=before.input if entry.input is UNSET else entry.input,
        )
        state.ready = without_key(state.ready, key)
        change_node(state, key, node)
    elif before.status is _PENDING:
        node = _beginning(state, key, entry.at)
        begun = replace(node, attempt=entry.attempt, timeout_at=entry.timeout_at)
        if entry.input is not UNSET:
            begun = replace(begun, input=entry.input, secrets=entry.secrets)
        open_node(plan, state, key, begun)
    else:
        node = replace(
            before,
            status=_RUNNING,
            attempt=entry.attempt,
            dispatched_at=entry.at,
            timeout_at=entry.timeout_at,
            child_id=None,
            execution_time=None,
            queue_time=None,
            worker=None,
        )
        change_node(state, key, node)
        clear_timer(state, TimerKey(TimerKind.RETRY, key.node, key.iteration))


def mutex_requested(plan: Plan, state: InstanceState, entry: MutexRequested) -> None:
    before = state.nodes.get(entry.key)
    # One that was re-opened keeps its input.
    input = UNSET if before is None else before.input
    node = NodeState(
        status=NodeStatus.WAITING,
        attempt=entry.attempt,
        opened=state.version,
        started_at=entry.at,
        input=input,
        mutex=entry.mutex,
        is_queued=True,
    )
    given_up = () if before is None else before.given_up
    open_node(plan, state, entry.key, replace(node, given_up=given_up))


def mutex_granted(state: InstanceState, entry: MutexGranted) -> None:
    """The node has its mutex, and begins as soon as anything may."""
    change_node(state, entry.key, replace(state.nodes[entry.key], is_queued=False))
    state.ready = with_key(state.ready, entry.key)


def completed(plan: Plan, state: InstanceState, entry: NodeCompleted) -> None:
    key = entry.key
    planned = plan.nodes[key.node]
    known = state.nodes.get(key)
    if known is not None and known.status is _PENDING:
        known = None  # it was re-opened, and has not begun again
    before = known or _beginning(state, key, entry.at)
    succeeded = entry.status == "success"
    took, queued = entry.execution_time, before.queue_time
    if took is None or entry.reused_from is not None:
        took = before.execution_time
    else:
        queued = _queued(before, took, entry.at)
    node = replace(
        before,
        status=_COMPLETED if succeeded else NodeStatus.FAILED,
        attempt=entry.attempt,
        losses=0,
        completed_at=entry.at,
        held=None,
        input=UNSET,
        secrets=(),
        counted=None,
        output=entry.output,
        written=state.version,
        held_back=entry.handles if before.is_withdrawn else (),
        is_taken_over=entry.reused_from is not None,
        execution_time=took,
        queue_time=queued,
        worker=before.worker if entry.worker is None else entry.worker,
    )
    if node.is_loop:
        node = replace(node, errors=errors_of(state, key))
    elif entry.reused_from is not None:
        node = _as_it_was(node, entry)
    close_node(plan, state, key, known, node)
    if state.sla:
        forget(state, key)
    # A node that was being cancelled finished all the same: its edges are dead since it was asked
    # to stop.
    if before.grace_until is None:
        arrive(plan, state, key, entry.handles)
    if entry.variable is not None or entry.variables is not None:
        _write_variables(plan, state, entry)
    if node.is_loop:
        close_loop(plan, state, key, may_go_on=False)
    if succeeded and before.grace_until is None and planned.node.completes:
        complete_loops(plan, state, key)
    if planned.work is None:
        _end_by(state, planned.node.config, entry)


def timed(node: NodeState, execution_time: int, at: datetime) -> NodeState:
    """A node whose attempt has reported at `at`: how long it ran, and was queued before that."""
    queued = _queued(node, execution_time, at)
    return replace(node, execution_time=execution_time, queue_time=queued)


def _queued(node: NodeState, execution_time: int, at: datetime) -> int:
    since = node.dispatched_at or node.started_at or at
    return max(epoch_ms(at) - epoch_ms(since) - execution_time, 0)


def _as_it_was(node: NodeState, entry: NodeCompleted) -> NodeState:
    """A step that was taken over, with what had gone wrong in it."""
    error = None if entry.error is None else _last_error(entry, entry.error)
    if entry.errors is None:
        return replace(node, error=error)
    return replace(node, error=error, is_loop=True, errors=entry.errors)


def _last_error(entry: NodeCompleted | NodeFailed, failure: Failure) -> LastError:
    return LastError(
        code=failure.code,
        message=failure.message,
        details=failure.details,
        step_id=entry.node,
        iteration=entry.iteration,
        attempt=entry.attempt,
        at=entry.at,
    )


def failed(plan: Plan, state: InstanceState, entry: NodeFailed) -> None:
    key = entry.key
    known = _begun(state, key)
    before = known or _beginning(state, key, entry.at)
    code = entry.error.code
    # The code alone does not tell: a task may report any code, also one of ours.
    was_lost = not entry.counts and code != STOPPED
    error = _last_error(entry, entry.error)
    node = replace(
        before,
        attempt=entry.attempt,
        failures=before.failures + entry.counts,
        losses=0 if entry.counts else before.losses + was_lost,
        error=error,
        worker=entry.worker,
    )
    if entry.execution_time is not None:
        node = timed(node, entry.execution_time, entry.at)
    # A failure that a handle takes is not undone, whatever was done.
    if entry.error.was_done and entry.then != "route":
        node = replace(node, was_done=True, output=entry.output, written=state.version)
    if entry.then in ("fail", "iteration"):
        node = replace(node, status=NodeStatus.FAILED, completed_at=entry.at)
        close_node(plan, state, key, known, node)
        if entry.then == "iteration":
            item_failed(plan, state, entry)
        else:
            if state.last_error is None:
                state.may_retry = entry.error.retryable
            state.last_error = state.last_error or error
            state.ending = state.ending or Ending(because="failed", status=Status.FAILED)
        if node.is_loop:
            close_loop(plan, state, key, may_go_on=entry.then == "fail")
    elif known is not None:
        # Another entry follows that says what becomes of the node.
        change_node(state, key, node)
    else:
        open_node(plan, state, key, node)


def skipped(plan: Plan, state: InstanceState, entry: NodeSkipped) -> None:
    if entry.reason == "enough":
        item_skipped(plan, state, entry)
        return
    key = entry.key
    node = NodeState(
        status=NodeStatus.SKIPPED,
        attempt=entry.attempt,
        opened=state.version,
        completed_at=entry.at,
    )
    close_node(plan, state, key, None, node)
    arrive(plan, state, key, entry.handles or ((DEFAULT,) if entry.reason == "when" else ()))


def cancelled(plan: Plan, state: InstanceState, entry: NodeCancelled) -> None:
    key = entry.key
    before = state.nodes[key]
    # While paused nothing is withdrawn yet, but what was lost is not started again either.
    is_withdrawn = before.is_withdrawn or (
        before.grace_until is None
        and state.ending is not None
        and (state.pause is None or before.is_in_flight)
    )
    node = replace(
        before,
        status=NodeStatus.CANCELLED,
        completed_at=entry.at,
        input=before.input if is_withdrawn else UNSET,
        secrets=before.secrets if is_withdrawn else (),
        is_withdrawn=is_withdrawn,
    )
    close_node(plan, state, key, before, node)
    if state.sla and not is_withdrawn:
        forget(state, key)
    if before.grace_until is None and not is_withdrawn:
        arrive(plan, state, key, ())
    if node.is_loop:
        close_loop(plan, state, key, may_go_on=is_withdrawn)


def cancel_requested(plan: Plan, state: InstanceState, entry: NodeCancelRequested) -> None:
    key = entry.key
    is_withdrawn = state.ending is not None and state.pause is None
    node = replace(state.nodes[key], grace_until=entry.grace_until, is_withdrawn=is_withdrawn)
    change_node(state, key, node)
    if not is_withdrawn:
        arrive(plan, state, key, ())
    _set_node_timer(state, TimerKind.GRACE, key, entry.grace_until, entry.at)


def retry_scheduled(state: InstanceState, entry: RetryScheduled) -> None:
    key = entry.key
    change_node(state, key, replace(state.nodes[key], status=NodeStatus.RETRYING))
    _set_node_timer(state, TimerKind.RETRY, key, entry.due, entry.at)


def wait_opened(plan: Plan, state: InstanceState, entry: WaitOpened) -> None:
    key = entry.key
    node = _waiting(state, entry, is_wait=True)
    if (before := state.nodes.get(key)) is not None:
        # The events that it took before it was re-opened are not offered again.
        node = replace(node, counted=before.counted)
    asking = entry.approval
    if asking is not None:
        asked = Asked(
            assignees=asking.assignees,
            escalate_to=asking.escalate_to,
            reminders=asking.reminders,
        )
        node = replace(node, approval=asked)
    open_node(plan, state, key, node)
    _set_node_timer(state, TimerKind.WAIT_TIMEOUT, key, entry.timeout_at, entry.at)
    _set_node_timer(state, TimerKind.NODE_TIMEOUT, key, entry.fail_at, entry.at)
    if asking is not None:
        _set_node_timer(state, TimerKind.REMINDER, key, asking.remind_at, entry.at)
        _set_node_timer(state, TimerKind.ESCALATION, key, asking.escalate_at, entry.at)


def wait_resolved(plan: Plan, state: InstanceState, entry: WaitResolved) -> None:
    if entry.event_id is None:
        return
    if entry.node in plan.hearing:
        item = None if entry.event is UNSET else entry.event
        item_added(plan, state, entry.key, item, entry.event_id)
        return
    state.taken_events = with_item(state.taken_events, entry.event_id, None)
    if entry.event is not UNSET:
        node = state.nodes[entry.key]
        before = node.counted or Counted()
        counted = Counted(
            events=(*before.events, entry.event),
            ids=(*before.ids, entry.event_id),
            size=before.size + size_of(entry.event),
        )
        change_node(state, entry.key, replace(node, counted=counted))


def timer_set(plan: Plan, state: InstanceState, entry: TimerSet) -> None:
    key = entry.key
    if entry.held is not None:
        node = replace(
            state.nodes[key], status=NodeStatus.WAITING, held=entry.held, worker=entry.held.worker
        )
        took = entry.held.execution_time
        change_node(state, key, node if took is None else timed(node, took, entry.at))
    else:
        open_node(plan, state, key, _waiting(state, entry, is_wait=False))
    _set_node_timer(state, TimerKind.DELAY, key, entry.due, entry.at)
    _set_node_timer(state, TimerKind.NODE_TIMEOUT, key, entry.fail_at, entry.at)


def timer_fired(state: InstanceState, entry: TimerFired) -> None:
    """A reminder or an escalation; what the end of a delay does follows in another entry."""
    key = entry.key
    asked = None if entry.kind == "delay" else state.nodes[key].approval
    if asked is None:
        return
    if entry.kind == "reminder":
        asked = replace(asked, reminded=entry.number)
        clear_timer(state, TimerKey(TimerKind.REMINDER, key.node, key.iteration))
        _set_node_timer(state, TimerKind.REMINDER, key, entry.next_at, entry.at)
    else:
        assignees = asked.assignees.with_others(entry.assignees or People())
        asked = replace(asked, assignees=assignees, escalate_to=None, escalated_at=entry.at)
        clear_timer(state, TimerKey(TimerKind.ESCALATION, key.node, key.iteration))
    change_node(state, key, replace(state.nodes[key], approval=asked))


def child_started(state: InstanceState, entry: ChildStarted) -> None:
    key = entry.key
    node = replace(state.nodes[key], child_id=entry.child_id, child_version=entry.version)
    change_node(state, key, node)
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


def _begun(state: InstanceState, key: NodeKey) -> NodeState | None:
    """The state of a node that has begun; None also if it was re-opened and not begun again."""
    node = state.nodes.get(key)
    return None if node is None or node.status is _PENDING else node


def _beginning(state: InstanceState, key: NodeKey, at: datetime) -> NodeState:
    """A node that begins now; what it keeps from before it was re-opened is with it."""
    node = NodeState(status=_RUNNING, opened=state.version, started_at=at)
    pending = state.nodes.get(key)
    if pending is None:
        return node
    return replace(
        node,
        input=pending.input,
        secrets=pending.secrets,
        child_version=pending.child_version,
        given_up=pending.given_up,
    )


def _end_by(state: InstanceState, config: Config, entry: NodeCompleted) -> None:
    """What the end of a node means for the output and the end of its instance."""
    if isinstance(config, End):
        state.output = _merged(state.output, entry.output)
    elif isinstance(config, Terminate) and entry.status == "success" and state.ending is None:
        _terminate(state, config, entry)


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
    state.may_retry = state.may_retry and state.last_error is not None
    state.last_error = state.last_error or error
    state.ending = Ending(because="terminated", status=Status.FAILED)


def _write_variables(plan: Plan, state: InstanceState, entry: NodeCompleted) -> None:
    key = entry.key
    written = written_by(entry.variable, entry.output, entry.variables)
    growth = context_growth(plan, state, key, written)
    variables = variables_at(plan, state, key)
    for name, value in written.items():
        variables = with_item(variables, name, Variable(value, state.version, size_of(value)))
    state.context_bytes += growth
    loop = plan.nodes[key.node].loop
    if loop is None:
        state.variables = variables
        return
    place = NodeKey(loop, key.iteration)
    iteration = state.iterations[place]
    iteration = replace(iteration, variables=variables, size=iteration.size + growth)
    state.iterations = with_item(state.iterations, place, iteration)


def context_growth(plan: Plan, state: InstanceState, key: NodeKey, written: Object) -> int:
    """By how much the JSON of all variables grows once a node has `written` some.

    An iteration does not replace what it found: that is there after it.
    """
    variables = variables_at(plan, state, key)
    loop = plan.nodes[key.node].loop
    entered = 0 if loop is None else state.nodes[NodeKey(loop, around(key.iteration))].opened
    growth = 0
    for name, value in written.items():
        before = variables.get(name)
        growth += size_of(value)
        if before is not None and before.written > entered:
            growth -= before.size
    return growth


def written_by(variable: str | None, output: JSON, mapped: Object | None) -> Object:
    """What a node writes into the context: its output under its name, then mapped names."""
    written = {} if variable is None else {variable: output}
    return written if mapped is None else {**written, **mapped}


def _merged(before: object, output: JSON) -> JSON:
    if isinstance(before, dict) and isinstance(output, dict):
        return {**before, **output}
    return output
