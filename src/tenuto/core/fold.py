"""Entries → state. One arm per kind of entry; nothing is refused, scheduled or looked up here."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from tenuto.core import node_entries as nodes
from tenuto.core.plan import Plan
from tenuto.core.state import Ending, InstanceState, Pause
from tenuto.core.timing import with_timer, without_timer
from tenuto.model.entries import (
    CancelRequested,
    Entry,
    InputSet,
    NodeCancelled,
    NodeCancelRequested,
    NodeCompleted,
    NodeDispatched,
    NodeFailed,
    NodeSkipped,
    PauseRequested,
    ResumeRequested,
    RetryScheduled,
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
from tenuto.model.status import Status


def fold(plan: Plan, state: InstanceState, entry: Entry) -> InstanceState:
    """`state` with `entry` taken in."""
    after = _fold(plan, state, entry)
    return replace(after, version=state.version + 1, updated_at=entry.at)


def _fold(plan: Plan, state: InstanceState, entry: Entry) -> InstanceState:  # noqa: C901 - one arm each
    match entry:
        case NodeCompleted():
            return nodes.completed(plan, state, entry)
        case NodeDispatched():
            return nodes.dispatched(state, entry)
        case NodeFailed():
            return nodes.failed(plan, state, entry)
        case NodeSkipped():
            return nodes.skipped(plan, state, entry)
        case NodeCancelled():
            return nodes.cancelled(plan, state, entry)
        case NodeCancelRequested():
            return nodes.cancel_requested(plan, state, entry)
        case RetryScheduled():
            return nodes.retry_scheduled(state, entry)
        case WaitOpened():
            return nodes.wait_opened(state, entry)
        case WaitResolved():
            return nodes.wait_resolved(state, entry)
        case TimerSet():
            return nodes.timer_set(state, entry)
        case TimerFired():
            return state
        case InputSet():
            return _input_set(plan, state, entry)
        case StatusChanged():
            return _status_changed(state, entry)
        case PauseRequested():
            return _pause_requested(state, entry)
        case ResumeRequested():
            return without_timer(replace(state, pause=None), TimerKey(TimerKind.RESUME))
        case CancelRequested():
            return _cancel_asked(state, entry)
        case SystemSet():
            return replace(state, system={**state.system, **entry.values})
        case _:
            assert_never(entry)


def _input_set(plan: Plan, state: InstanceState, entry: InputSet) -> InstanceState:
    ready = state.ready
    for name in plan.starts:
        ready = ready.insert(NodeKey(name), None)
    after = replace(
        state,
        definition_id=entry.definition_id,
        definition_version=entry.definition_version,
        input=entry.input,
        correlation_id=entry.correlation_id,
        priority=entry.priority,
        deadline=entry.deadline,
        created_at=entry.at,
        ready=ready,
    )
    return with_timer(after, TimerKey(TimerKind.DEADLINE), entry.deadline, entry.at)


def _status_changed(state: InstanceState, entry: StatusChanged) -> InstanceState:
    after = replace(state, status=entry.to, last_error=state.last_error or entry.error)
    if entry.to is Status.RUNNING and state.started_at is None:
        after = replace(after, started_at=entry.at)
    if entry.to.is_final:
        after = without_timer(replace(after, completed_at=entry.at), TimerKey(TimerKind.DEADLINE))
    return after


def _pause_requested(state: InstanceState, entry: PauseRequested) -> InstanceState:
    pause = Pause(by=entry.by, at=entry.at, reason=entry.reason, until=entry.until)
    return with_timer(
        replace(state, pause=pause), TimerKey(TimerKind.RESUME), entry.until, entry.at
    )


def _cancel_asked(state: InstanceState, entry: CancelRequested) -> InstanceState:
    cancellation = Cancellation(
        reason=entry.reason,
        requested_by=entry.by,
        requested_at=entry.at,
        source=entry.source,
        should_compensate=entry.should_compensate,
        event_id=entry.event_id,
    )
    after = replace(
        state,
        cancellation=cancellation,
        ending=Ending(because="cancelled", status=Status.CANCELLED),
        pause=None,
    )
    for kind in (TimerKind.RESUME, TimerKind.DEADLINE):
        after = without_timer(after, TimerKey(kind))
    return after
