"""The life of an approval: opened, reminded of, escalated, decided, timed out."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from tenuto.core.deciding import Deciding, Rejection
from tenuto.core.moments import Moments
from tenuto.core.outcome import complete, expression_failure, fail
from tenuto.core.plan import Plan
from tenuto.core.state import Asked, InstanceState, NodeState, attempt_of
from tenuto.expr import ExpressionError
from tenuto.model.approvals import Asking, People
from tenuto.model.durations import Duration, iso
from tenuto.model.entries import TimerFired, WaitOpened, WaitResolved
from tenuto.model.failure import WAIT_TIMEOUT, Failure
from tenuto.model.graph import TIMEOUT, Approval
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import DecisionAsked, TimerKey, TimerKind
from tenuto.model.json import JSON, Object, are_the_same, kind_of
from tenuto.model.status import NodeStatus

NO_SUCH_APPROVAL = "TEN-3020"
NOT_OPEN = "TEN-3021"
MAY_NOT_DECIDE = "TEN-5001"

_MOST_NAMED = 10
"""So many iterations a message names."""


def begin(d: Deciding, key: NodeKey, config: Approval) -> None:
    """Ask for a decision: who may decide is worked out now, once."""
    attempt = attempt_of(d.state, key)
    further = config.escalate
    try:
        assignees = _people(d, key, "assignees", config.assignees)
        others = None
        if further is not None:
            others = _people(d, key, "escalate.assignees", further.assignees)
        moments = Moments(d)
        deadline, calendar = config.deadline, config.calendar
        timeout_at = moments.after(deadline, calendar) if deadline else None
        reminders = sorted(moments.after(each, calendar) for each in config.reminders)
        escalate_at = None
        if further is not None:
            escalate_at = moments.after(further.after, further.calendar or calendar)
        fail_at = moments.overrun(key)
    except (ExpressionError, ValueError) as error:
        fail(d, key, attempt, expression_failure(error))
        return
    d.emit(
        WaitOpened(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            timeout_at=timeout_at,
            fail_at=fail_at,
            calendars=moments.calendars,
            approval=Asking(
                assignees=assignees,
                remind_at=reminders[0] if reminders else None,
                # Others follow from the definition, whenever they are asked for.
                reminders=tuple(reminders[1:]) if _is_in_calendar(config) else (),
                escalate_at=escalate_at,
                escalate_to=others,
            ),
        )
    )


def decided(d: Deciding, asked: DecisionAsked) -> Rejection | None:
    """Record a decision, unless the user may not decide or it is too late; a repeat is accepted."""
    key = NodeKey(asked.node, asked.iteration)
    refused = refusal(d.plan, d.state, asked, d.now)
    if refused is not None or not d.state.nodes[key].is_open:
        return refused
    d.emit(_resolved(d, key, "decision"))
    output: Object = {
        "decision": asked.decision,
        "by": asked.by,
        "at": iso(d.now),
        "form": asked.form,
    }
    complete(d, key, output, handles=(asked.decision,))
    return None


def refusal(
    plan: Plan, state: InstanceState, asked: DecisionAsked, now: datetime
) -> Rejection | None:
    """Why a decision is not taken; None: it is, or was."""
    key = NodeKey(asked.node, asked.iteration)
    planned = plan.nodes.get(key.node)
    if planned is None or not isinstance(planned.node.config, Approval):
        return Rejection(code=NO_SUCH_APPROVAL, message=_unknown(plan, key.node))
    if (planned.loop is None) is not (key.iteration == ""):
        return Rejection(code=NO_SUCH_APPROVAL, message=_misplaced(plan, state, key))
    node = state.nodes.get(key)
    if node is not None and is_the_same(node.output, asked):
        return None
    too_late = _too_late(state, key, node, now)
    if too_late is not None:
        return Rejection(code=NOT_OPEN, message=too_late)
    assert node is not None
    assert node.approval is not None
    people = node.approval.assignees
    if people.include(asked.by, asked.roles):
        return None
    message = f"{asked.by} may not decide on {_spelled(key)}: that is for {people}"
    return Rejection(code=MAY_NOT_DECIDE, message=message)


def is_the_same(output: JSON, asked: DecisionAsked) -> bool:
    """Whether a step's output says that the same person has decided the same."""
    if not isinstance(output, dict):
        return False
    said = [output.get(name) for name in ("decision", "by", "form")]
    return are_the_same(said, [asked.decision, asked.by, asked.form])


def remind(d: Deciding, key: NodeKey) -> None:
    """There is no decision yet: record a reminder, and when the next one is due."""
    node, config = d.state.nodes[key], d.plan[key.node].node.config
    asked = node.approval
    assert asked is not None
    assert isinstance(config, Approval)
    opened = node.started_at or d.now
    number = asked.reminded + 1
    d.emit(
        TimerFired(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=node.attempt,
            kind="reminder",
            number=number,
            next_at=_next_reminder(config, asked, number, opened),
            assignees=asked.assignees,
        )
    )


def escalate(d: Deciding, key: NodeKey) -> None:
    """There has been no decision for too long: allow the escalation's assignees to decide, too."""
    node = d.state.nodes[key]
    assert node.approval is not None
    d.emit(
        TimerFired(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=node.attempt,
            kind="escalation",
            assignees=node.approval.escalate_to,
        )
    )


def timed_out(d: Deciding, key: NodeKey, *, requested_by: str | None = None) -> None:
    """There was no decision in time: take the handle `timeout`, or fail if it leads nowhere."""
    node = d.state.nodes[key]
    assert node.approval is not None
    d.emit(_resolved(d, key, "timeout", requested_by))
    if TIMEOUT in d.plan[key.node].handles:
        complete(d, key, None, handles=(TIMEOUT,))
        return
    message = f"no decision was made in time; it was for {node.approval.assignees}"
    fail(d, key, node.attempt, Failure(code=WAIT_TIMEOUT, message=message, retryable=False))


def _resolved(
    d: Deciding,
    key: NodeKey,
    outcome: Literal["decision", "timeout"],
    requested_by: str | None = None,
) -> WaitResolved:
    return WaitResolved(
        at=d.now,
        node=key.node,
        iteration=key.iteration,
        attempt=d.state.nodes[key].attempt,
        outcome=outcome,
        requested_by=requested_by,
    )


def _is_in_calendar(config: Approval) -> bool:
    return any(not isinstance(length, Duration) for length in config.reminders)


def _next_reminder(
    config: Approval, asked: Asked, number: int, opened: datetime
) -> datetime | None:
    """When the reminder after the first `number` is due; each counts from the beginning."""
    if _is_in_calendar(config):
        return asked.reminders[number - 1] if number <= len(asked.reminders) else None
    lengths = (length for length in config.reminders if isinstance(length, Duration))
    moments = sorted(length.after(opened) for length in lengths)
    return moments[number] if number < len(moments) else None


def _people(d: Deciding, key: NodeKey, field: str, template: Object) -> People:
    rendered = d.plan.template(key.node, field, template).render(d.scope(key))
    assert isinstance(rendered, dict)
    users, roles = (_names(rendered.get(kind), f"{field}.{kind}") for kind in ("users", "roles"))
    if not users and not roles:
        raise ValueError(f"{field}: no user or role is named, so no decision is possible")
    return People(users=users, roles=roles)


def _names(value: JSON, field: str) -> tuple[str, ...]:
    """The names that a list of templates gave; one of them may give a list itself."""
    given: list[JSON] = []
    for each in value if isinstance(value, list) else ():
        given += each if isinstance(each, list) else [each]
    for each in given:
        if not isinstance(each, str) or not each.strip():
            found = "empty text" if isinstance(each, str) else kind_of(each)
            raise ValueError(f"{field}: expected a name, found {found}")
    return tuple(dict.fromkeys(str(each) for each in given))


def _too_late(
    state: InstanceState, key: NodeKey, node: NodeState | None, now: datetime
) -> str | None:
    """Why no decision is possible now: the approval is not open yet, or not any more."""
    name = _spelled(key)
    if node is None or node.status is NodeStatus.PENDING:
        if state.status.is_final:
            return f"the instance is {state.status} and never came to {name}"
        return f"{name} is not open: the instance has not come to it, or has left it behind"
    if node.status is NodeStatus.WAITING:
        return _closing(state, key, now)
    moment = f" at {iso(node.completed_at)}" if node.completed_at else ""
    match node.status:
        case NodeStatus.COMPLETED if isinstance(node.output, dict):
            return f"{name} was {node.output.get('decision')} by {node.output.get('by')}{moment}"
        case NodeStatus.COMPLETED:
            return f"no decision was made on {name} in time: it timed out{moment}"
        case NodeStatus.SKIPPED:
            return f"{name} was passed over{moment}"
        case NodeStatus.CANCELLED:
            return f"{name} was cancelled{moment}"
        case _:
            failed = f": {node.error.message}" if node.error else ""
            return f"{name} has failed{moment}{failed}"


def _closing(state: InstanceState, key: NodeKey, now: datetime) -> str | None:
    """Why an approval that is open takes no decision any more."""
    if state.status.is_final or (state.ending is not None and state.pause is None):
        return f"the instance is {state.status if state.status.is_final else 'ending'}"
    for kind in (TimerKind.WAIT_TIMEOUT, TimerKind.NODE_TIMEOUT):
        # The time is over by the clock, even if the timer has not fired yet.
        timer = state.timers.get(TimerKey(kind, key.node, key.iteration))
        if timer is not None and timer.due <= now:
            name, due = _spelled(key), iso(timer.due)
            return f"no decision was made on {name} in time: that was until {due}"
    return None


def _unknown(plan: Plan, name: str) -> str:
    found = "is no approval" if name in plan.nodes else "is no step of the workflow"
    approvals = [
        each for each, planned in plan.nodes.items() if isinstance(planned.node.config, Approval)
    ]
    there = f"its approvals are {_listed(approvals)}" if approvals else "it has no approvals"
    return f"{name} {found}; {there}"


def _misplaced(plan: Plan, state: InstanceState, key: NodeKey) -> str:
    loop = plan.nodes[key.node].loop
    if loop is None:
        return f"{key.node} is in no loop: it has no iteration {key.iteration}"
    opened = [
        each.iteration
        for each in sorted(state.open_inside, key=plan.place_of)
        if each.node == key.node
    ]
    there = f"open are {_listed(opened)}" if opened else "none of them is open"
    return f"{key.node} is in the loop {loop}: say in which iteration; {there}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _spelled(key: NodeKey) -> str:
    return f"{key.node}[{key.iteration}]" if key.iteration else key.node
