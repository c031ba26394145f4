"""What happens when a timer's moment has come."""

from __future__ import annotations

from typing import assert_never

from tenuto.core import approval, attempt, child, commands, compensation, delay, loop, sla, wait
from tenuto.core.cancelling import cancelled
from tenuto.core.deciding import GO_ON, STALE, Deciding, Rejection
from tenuto.model.effects import ClearTimer
from tenuto.model.graph import SubWorkflow
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import CancelAsked, ResumeAsked, TimerDue, TimerKey, TimerKind

SYSTEM = "system"
NOT_DUE = "TEN-3006"
_DEADLINE = TimerKey(TimerKind.DEADLINE)


def due(d: Deciding, report: TimerDue) -> Rejection | None:
    """Fire a timer, if it is still set and its time has really come."""
    if report.key == GO_ON:
        return None if d.state.is_unsettled else Rejection(code=STALE, message="nothing is left")
    timer = d.state.timers.get(report.key)
    if timer is None or timer.due != report.due:
        return Rejection(code=STALE, message=f"the timer {report.key.kind} is not set")
    if d.now < timer.due:
        return Rejection(code=NOT_DUE, message=f"the timer {report.key.kind} is not due yet")
    is_held = report.key.kind is TimerKind.RETRY and d.state.pause is not None
    is_moot = report.key.kind is TimerKind.DEADLINE and d.state.ending is not None
    if is_held or (is_moot and d.state.pause is None):
        # Nothing is dispatched while paused; `resumed` finds the timer overdue. An instance that is
        # ending already does not care for its deadline.
        d.order(ClearTimer(key=report.key, due=timer.due, set_at=timer.set_at))
        return None
    return _fire(d, report.key)


def has_overrun(d: Deciding) -> bool:
    """Whether the instance's deadline has passed and was not acted on yet."""
    timer = d.state.timers.get(_DEADLINE)
    is_ending = d.state.ending is not None and d.state.pause is None
    return timer is not None and timer.due <= d.now and not is_ending


def pass_deadline(d: Deciding) -> Rejection | None:
    """The deadline has passed."""
    asked = CancelAsked(by=SYSTEM, reason="the deadline has passed", source="TIMEOUT")
    return commands.cancel(d, asked)


def resumed(d: Deciding) -> None:
    """Fire what came due while the instance was paused."""
    overdue = [
        key
        for key, timer in d.state.timers.items()
        if key.kind is TimerKind.RETRY and timer.due <= d.now
    ]
    for key in sorted(overdue, key=lambda key: d.plan.place_of(NodeKey(key.node, key.iteration))):
        _fire(d, key)


def _fire(d: Deciding, key: TimerKey) -> Rejection | None:  # noqa: C901 - one arm each
    node = NodeKey(key.node, key.iteration)
    match key.kind:
        case TimerKind.DELAY:
            delay.fired(d, node)
        case TimerKind.RETRY if key.node in d.plan.undo_steps:
            compensation.retry_due(d)
        case TimerKind.RETRY:
            attempt.retry_due(d, node)
        case TimerKind.WAIT_TIMEOUT:
            _timed_out(d, node)
        case TimerKind.NODE_TIMEOUT:
            _overran(d, node)
        case TimerKind.REMINDER:
            approval.remind(d, node)
        case TimerKind.ESCALATION:
            approval.escalate(d, node)
        case TimerKind.GRACE:
            cancelled(d, node, d.state.nodes[node].attempt)
        case TimerKind.SLA_WARNING:
            sla.fired(d, node, "sla-warning")
        case TimerKind.SLA_BREACH:
            sla.fired(d, node, "sla-breached")
        case TimerKind.DEADLINE:
            return pass_deadline(d)
        case TimerKind.RESUME:
            return commands.resume(d, ResumeAsked(by=SYSTEM))
        case TimerKind.GO_ON:
            raise AssertionError(f"{key} is in no state")
        case _:
            assert_never(key.kind)
    return None


def _timed_out(d: Deciding, key: NodeKey) -> None:
    if d.state.nodes[key].approval is not None:
        approval.timed_out(d, key)
    else:
        wait.timed_out(d, key)


def _overran(d: Deciding, key: NodeKey) -> None:
    if d.state.nodes[key].is_loop:
        loop.overran(d, key)
    elif isinstance(d.plan[key.node].node.config, SubWorkflow):
        child.overran(d, key)
    else:
        wait.overran(d, key)
