"""Entries → state. One arm per kind of entry; nothing is refused, scheduled or looked up here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from tenuto.core import (
    compensation_entries as undoing,
    loop_entries as loops,
    node_entries as nodes,
    sla_entries as sla,
)
from tenuto.core.due_order import NONE_DUE
from tenuto.core.keys import with_key
from tenuto.core.plan import Plan
from tenuto.core.reopening import retry_requested
from tenuto.core.state import Ending, InstanceState, Pause
from tenuto.core.timing import clear_timer, set_timer
from tenuto.model.durations import parse_moment
from tenuto.model.entries import (
    CancelRequested,
    ChildEnded,
    ChildStarted,
    CompensationCompleted,
    CompensationDispatched,
    CompensationEnded,
    CompensationFailed,
    CompensationPlanned,
    Entry,
    InputSet,
    IterationEnded,
    IterationStarted,
    MutexGranted,
    MutexRequested,
    NodeCancelled,
    NodeCancelRequested,
    NodeCompleted,
    NodeDispatched,
    NodeFailed,
    NodeSkipped,
    PauseRequested,
    ResumeRequested,
    RetryRequested,
    RetryScheduled,
    SlaFired,
    SlaSet,
    StatusChanged,
    SystemSet,
    TimerFired,
    TimerSet,
    WaitOpened,
    WaitResolved,
)
from tenuto.model.failure import Cancellation
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.slots import TIMEOUT_AT
from tenuto.model.status import Status


def fold(plan: Plan, state: InstanceState, entry: Entry) -> InstanceState:
    """`state` with `entry` taken in; the one given stays as it is."""
    return fold_all(plan, state, (entry,))


def fold_all(plan: Plan, state: InstanceState, entries: Iterable[Entry]) -> InstanceState:
    """`state` with `entries` taken in, one after the other."""
    after = state.copied()
    for entry in entries:
        fold_into(plan, after, entry)
    return after


def fold_into(  # noqa: C901, PLR0915 - one arm each
    plan: Plan, state: InstanceState, entry: Entry
) -> None:
    """Apply `entry` to `state`, which must not be shared; the most common entries come first."""
    state.version += 1
    state.updated_at = entry.at
    match entry:
        case NodeCompleted():
            nodes.completed(plan, state, entry)
        case NodeDispatched():
            nodes.dispatched(plan, state, entry)
        case StatusChanged():
            _status_changed(state, entry)
        case InputSet():
            _input_set(plan, state, entry)
        case WaitOpened():
            nodes.wait_opened(plan, state, entry)
        case WaitResolved():
            nodes.wait_resolved(plan, state, entry)
        case NodeFailed():
            nodes.failed(plan, state, entry)
        case NodeSkipped():
            nodes.skipped(plan, state, entry)
        case NodeCancelled():
            nodes.cancelled(plan, state, entry)
        case NodeCancelRequested():
            nodes.cancel_requested(plan, state, entry)
        case MutexRequested():
            nodes.mutex_requested(plan, state, entry)
        case MutexGranted():
            nodes.mutex_granted(state, entry)
        case RetryScheduled() if entry.node in plan.undo_steps:
            undoing.retry_scheduled(state, entry)
        case RetryScheduled():
            nodes.retry_scheduled(state, entry)
        case TimerSet():
            nodes.timer_set(plan, state, entry)
        case ChildStarted():
            nodes.child_started(state, entry)
        case TimerFired():
            nodes.timer_fired(state, entry)
        case ChildEnded():
            undoing.child_ended(state, entry)
        case IterationStarted():
            loops.iteration_started(plan, state, entry)
        case IterationEnded():
            loops.iteration_ended(plan, state, entry)
        case PauseRequested():
            _pause_requested(state, entry)
        case ResumeRequested():
            state.pause = None
            clear_timer(state, TimerKey(TimerKind.RESUME))
        case CancelRequested():
            _cancel_requested(state, entry)
        case RetryRequested():
            retry_requested(plan, state, entry)
        case (
            CompensationPlanned()
            | CompensationDispatched()
            | CompensationCompleted()
            | CompensationFailed()
            | CompensationEnded()
        ):
            undoing.take(state, entry)
        case SlaSet():
            sla.sla_set(state, entry)
        case SlaFired():
            sla.sla_fired(state, entry)
        case SystemSet():
            _system_set(state, entry)
        case _:
            assert_never(entry)


def _input_set(plan: Plan, state: InstanceState, entry: InputSet) -> None:
    state.definition_id = entry.definition_id
    state.definition_version = entry.definition_version
    state.rerun_of = entry.rerun_of
    state.input = entry.input
    state.correlation_id = entry.correlation_id
    state.traceparent = entry.traceparent
    state.priority = entry.priority
    state.deadline = entry.deadline
    state.parent = entry.parent
    state.chain = entry.chain
    state.origin = entry.origin
    state.schedule = entry.schedule
    state.created_at = entry.at
    for name in plan.starts:
        state.ready = with_key(state.ready, NodeKey(name))
    set_timer(state, TimerKey(TimerKind.DEADLINE), entry.deadline, entry.at)


def _system_set(state: InstanceState, entry: SystemSet) -> None:
    state.system = {**state.system, **entry.values}
    due = entry.values.get(TIMEOUT_AT)
    if isinstance(due, str):
        moment = parse_moment(due)
        if state.deadline is None or moment < state.deadline:
            state.deadline = moment
            set_timer(state, TimerKey(TimerKind.DEADLINE), moment, entry.at)


def _status_changed(state: InstanceState, entry: StatusChanged) -> None:
    state.status = entry.to
    state.last_error = state.last_error or entry.error
    if entry.to is Status.RUNNING and state.started_at is None:
        state.started_at = entry.at
    if entry.to.is_final:
        state.completed_at = entry.at
        if state.timers:
            # The deadline; of a quarantined instance, any timer.
            state.timers, state.near_timers, state.sla_order = {}, 0, NONE_DUE


def _pause_requested(state: InstanceState, entry: PauseRequested) -> None:
    state.pause = Pause(by=entry.by, at=entry.at, reason=entry.reason, until=entry.until)
    set_timer(state, TimerKey(TimerKind.RESUME), entry.until, entry.at)


def _cancel_requested(state: InstanceState, entry: CancelRequested) -> None:
    state.cancellation = Cancellation(
        reason=entry.reason,
        requested_by=entry.by,
        requested_at=entry.at,
        source=entry.source,
        should_compensate=entry.should_compensate,
        event_id=entry.event_id,
    )
    state.ending = Ending(because="cancelled", status=Status.CANCELLED)
    state.pause = None
    for kind in (TimerKind.RESUME, TimerKind.DEADLINE):
        clear_timer(state, TimerKey(kind))
