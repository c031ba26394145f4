"""What each entry of a compensation does to the state: the plan, and the one that is under way."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from tenuto.core.maps import with_item, without_item
from tenuto.core.state import Compensation, InstanceState, NodeState
from tenuto.core.timing import clear_timer, set_timer
from tenuto.model.entries import (
    ChildEnded,
    CompensationCompleted,
    CompensationDispatched,
    CompensationEnded,
    CompensationFailed,
    CompensationPlanned,
    RetryScheduled,
)
from tenuto.model.failure import STOPPED, LastError
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.status import NodeStatus

Of = (
    CompensationPlanned
    | CompensationDispatched
    | CompensationCompleted
    | CompensationFailed
    | CompensationEnded
)


def take(state: InstanceState, entry: Of) -> None:
    """Change `state` as `entry` says."""
    match entry:
        case CompensationPlanned():
            _planned(state, entry)
        case CompensationDispatched():
            _dispatched(state, entry)
        case CompensationCompleted():
            undoing = _of(state)
            _concluded(state, undoing, place_of(undoing, entry.key))
        case CompensationFailed():
            _failed(state, entry)
        case CompensationEnded():
            if (place := _of(state).place) is not None:
                _clear_retry(state, NodeKey(*place[:2]))
            after = replace(_of(state), current=None, work=None, again=(), completed_at=entry.at)
            _change(state, after)
        case _:
            assert_never(entry)


def _planned(state: InstanceState, entry: CompensationPlanned) -> None:
    # What ends already does not care for its deadline, however long it takes to undo it.
    clear_timer(state, TimerKey(TimerKind.DEADLINE))
    before = state.compensation
    if before is not None:
        again = tuple(sorted(before.failed))
        state.compensation = replace(before, asked=entry.asked, again=again, completed_at=None)
        return
    state.compensation = Compensation(
        plan=entry.plan, skipped=entry.skipped, started_at=entry.at, asked=entry.asked
    )


def _dispatched(state: InstanceState, entry: CompensationDispatched) -> None:
    undoing = _of(state)
    index = place_of(undoing, entry.key)
    item = undoing.plan[index]
    before = undoing.work
    if before is None:
        work = NodeState(
            status=NodeStatus.RUNNING,
            attempt=entry.attempt,
            opened=state.version,
            started_at=entry.at,
            timeout_at=entry.timeout_at,
            input=entry.input,
            secrets=entry.secrets,
            child_id=state.nodes[item.undone].child_id if item.is_child else None,
        )
    else:
        work = replace(
            before,
            status=NodeStatus.RUNNING,
            attempt=entry.attempt,
            dispatched_at=entry.at,
            timeout_at=entry.timeout_at,
        )
        _clear_retry(state, entry.key)
    _change(
        state,
        replace(
            undoing,
            current=index,
            work=work,
            failed=without_item(undoing.failed, index),
            completed_at=None,
            again=tuple(place for place in undoing.again if place != index),
        ),
    )


def _failed(state: InstanceState, entry: CompensationFailed) -> None:
    undoing = _of(state)
    index = place_of(undoing, entry.key)
    error = LastError(
        code=entry.error.code,
        message=entry.error.message,
        details=entry.error.details,
        step_id=entry.node,
        iteration=entry.iteration,
        attempt=entry.attempt,
        at=entry.at,
    )
    if entry.then == "fail":
        _concluded(state, replace(undoing, failed=with_item(undoing.failed, index, error)), index)
        _clear_retry(state, entry.key)
        return
    assert undoing.work is not None
    was_lost = not entry.counts and entry.error.code != STOPPED
    work = replace(
        undoing.work,
        failures=undoing.work.failures + entry.counts,
        losses=0 if entry.counts else undoing.work.losses + was_lost,
        error=error,
    )
    _change(state, replace(undoing, work=work))


def retry_scheduled(state: InstanceState, entry: RetryScheduled) -> None:
    undoing = _of(state)
    assert undoing.work is not None
    _change(state, replace(undoing, work=replace(undoing.work, status=NodeStatus.RETRYING)))
    timer = TimerKey(TimerKind.RETRY, entry.node, entry.iteration)
    set_timer(state, timer, entry.due, entry.at)


def child_ended(state: InstanceState, entry: ChildEnded) -> None:
    """Take note whether a child has anything to undo."""
    node = state.nodes[entry.key]
    if node.can_be_undone is not entry.can_be_undone:
        noted = replace(node, can_be_undone=entry.can_be_undone)
        state.nodes = with_item(state.nodes, entry.key, noted)


def place_of(undoing: Compensation, key: NodeKey) -> int:
    """Which of the plan an entry is about: the one under way, the next, or one that failed."""
    for index in (undoing.current, undoing.position):
        if index is not None and index < len(undoing.plan) and undoing.plan[index].key == key:
            return index
    return next(index for index in undoing.failed if undoing.plan[index].key == key)


def _of(state: InstanceState) -> Compensation:
    assert state.compensation is not None
    return state.compensation


def _concluded(state: InstanceState, undoing: Compensation, index: int) -> None:
    position = max(undoing.position, index + 1)
    again = tuple(place for place in undoing.again if place != index)
    _change(state, replace(undoing, current=None, work=None, position=position, again=again))


def _change(state: InstanceState, after: Compensation) -> None:
    before = _of(state)
    state.running += after.is_in_flight - before.is_in_flight
    state.compensation = after


def _clear_retry(state: InstanceState, key: NodeKey) -> None:
    clear_timer(state, TimerKey(TimerKind.RETRY, key.node, key.iteration))
