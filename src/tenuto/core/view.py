"""An instance's state as users see it: the `state`, `ctx` and `system` of the specification."""

from __future__ import annotations

import msgspec

from tenuto.core.plan import Plan
from tenuto.core.scope import Context, Sight, Variables
from tenuto.core.state import Compensation, InstanceState, NodeState
from tenuto.core.wait import arms_of
from tenuto.expr import Lazy, Undefined
from tenuto.model.durations import iso
from tenuto.model.failure import Cancellation, LastError
from tenuto.model.graph import Approval, EventWait
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.json import JSON, Object, size_of
from tenuto.model.pauses import between_parts
from tenuto.model.status import NodeStatus

_MANY = 100
"""So many open activations are sorted to tell where an instance is."""
MOST_SHOWN = 1_000_000
"""Bytes of forms and conditions of open waits; later waits are shown without theirs."""

_NOT_REACHED: Object = {
    "status": NodeStatus.PENDING.value,
    "output": None,
    "attempts": 0,
    "startedAt": None,
    "completedAt": None,
}


def context_of(plan: Plan, state: InstanceState) -> Object:
    """`ctx` as a value."""
    return _values(Context(Sight(plan, state, None, {})))


def state_of(plan: Plan, state: InstanceState) -> Object:
    """`state`: input, variables, every step, and the open steps."""
    # By the plan: of a loop's iterations there may be any number, and each undo asks for this.
    reached = (name for name in plan.nodes if NodeKey(name) in state.nodes)
    steps: Object = {}
    for name in sorted(reached, key=plan.order_of):
        steps[name] = _step(state.nodes[NodeKey(name)])
        between_parts()
    for name, planned in plan.nodes.items():
        if planned.loop is not None:
            continue  # it exists in the loop's iterations alone
        steps.setdefault(name, dict(_NOT_REACHED))
    current = current_steps(state)
    waits = waits_of(plan, state)
    for_events = (wait for wait in waits if isinstance(wait, dict) and "approval" not in wait)
    names: list[JSON] = list(current)
    return {
        "input": state.input,
        "variables": _values(Variables(Sight(plan, state, None, {}))),
        "steps": steps,
        "currentStepId": current[0] if current else None,
        "currentSteps": names,
        "waitingForEvent": next(for_events, None),
        "waits": waits,
    }


def current_steps(state: InstanceState) -> list[str]:
    """The open steps, newest first.

    If there are many, those of iterations come first, by name: an order by time would mean
    searching all open nodes, and is of little use then.
    """
    if state.open > _MANY:
        names = sorted(state.open_steps)
        outside = [name for name in names if NodeKey(name) in state.nodes]
        inside = [name for name in names if NodeKey(name) not in state.nodes]
        outside.sort(key=lambda name: state.nodes[NodeKey(name)].opened, reverse=True)
        return inside + outside
    newest = sorted(state.open_nodes(), key=lambda key: state.nodes[key].opened, reverse=True)
    return list(dict.fromkeys(key.node for key in newest))


def waits_of(plan: Plan, state: InstanceState, *, in_full: bool = False) -> list[JSON]:
    """The open waits, for events and for decisions, the oldest first.

    With `in_full` also in which iteration they are, and until when. Behind a megabyte of forms and
    conditions the later ones have `isFormLeftOut` or `isConditionLeftOut`.
    """
    if not state.open_waits:
        return []
    room = _Room()
    keys: list[NodeKey] = []
    for key in state.open_nodes():
        between_parts()
        if state.nodes[key].is_wait:
            keys.append(key)
    waits: list[JSON] = []
    for key in sorted(keys, key=lambda key: state.nodes[key].opened):
        between_parts()
        config = plan[key.node].node.config
        if isinstance(config, Approval):
            waits.append(_approval(state, key, config, room))
            continue
        assert isinstance(config, EventWait)
        started = state.nodes[key].started_at
        waits += [
            {
                "stepId": key.node,
                **({"iteration": key.iteration} if in_full else {}),
                **({"armId": arm.id} if arm.id else {}),
                "eventPattern": arm.event_pattern,
                **room.condition(arm.event_condition),
                "since": iso(started) if started else None,
                **({"timeoutAt": _deadline(state, key)} if in_full else {}),
            }
            for arm in arms_of(config)
        ]
    return waits


def _deadline(state: InstanceState, key: NodeKey) -> str | None:
    """Until when a wait is open: what comes first, its own time-out or that of its node."""
    kinds = (TimerKind.WAIT_TIMEOUT, TimerKind.NODE_TIMEOUT)
    timers = (state.timers.get(TimerKey(kind, key.node, key.iteration)) for kind in kinds)
    due = min((timer.due for timer in timers if timer), default=None)
    return iso(due) if due else None


class _Room:
    """How much is shown of what the definition says of waits: a loop may have opened any number."""

    def __init__(self) -> None:
        self._left = MOST_SHOWN
        self._sizes: dict[str, int] = {}
        """Of the forms of steps."""

    def form(self, step: str, schema: JSON) -> Object:
        """The form of a decision, or that it is left out."""
        if step not in self._sizes:
            self._sizes[step] = size_of(schema)
        if self._is_shown(self._sizes[step]):
            return {"formSchema": schema}
        return {"formSchema": None, "isFormLeftOut": True}

    def condition(self, condition: str | None) -> Object:
        """The condition of a wait, or that it is left out."""
        if condition is None or self._is_shown(len(condition)):
            return {"eventCondition": condition}
        return {"eventCondition": None, "isConditionLeftOut": True}

    def _is_shown(self, size: int) -> bool:
        """Whether there is room; what begins within it is shown whole."""
        had_room = self._left > 0
        self._left -= size
        return had_room


def _approval(state: InstanceState, key: NodeKey, config: Approval, room: _Room) -> Object:
    """An open approval: who may decide, on what form, and until when."""
    node = state.nodes[key]
    asked, started = node.approval, node.started_at
    assert asked is not None
    return {
        "stepId": key.node,
        "iteration": key.iteration,
        "eventPattern": None,
        "eventCondition": None,
        "since": iso(started) if started else None,
        "timeoutAt": _deadline(state, key),
        "approval": {
            "users": list(asked.assignees.users),
            "roles": list(asked.assignees.roles),
            **room.form(key.node, config.form_schema),
            "reminders": asked.reminded,
            "escalatedAt": iso(asked.escalated_at) if asked.escalated_at else None,
        },
    }


def error_view(error: LastError) -> Object:
    """An error as `lastError` and a step's `error` show it."""
    view: Object = {
        "code": error.code,
        "message": error.message,
        "stepId": error.step_id,
        "iteration": error.iteration,
        "attempt": error.attempt,
        "at": iso(error.at),
    }
    if error.details is not None:
        view["details"] = error.details
    return view


def cancellation_view(cancellation: Cancellation | None) -> JSON:
    """Who cancelled an instance, why and when."""
    if cancellation is None:
        return None
    view: Object = msgspec.to_builtins(cancellation)
    return view | {"requestedAt": iso(cancellation.requested_at)}


def compensation_view(undoing: Compensation | None) -> JSON:
    """What was undone, is being undone, or could not be: `compensationState`."""
    if undoing is None:
        return None
    had_their_turn = enumerate(undoing.plan[: undoing.position])
    done: list[JSON] = [
        _spelled(item.key)
        for place, item in had_their_turn
        if place not in undoing.failed and place != undoing.current
    ]
    failed: list[JSON] = [
        {
            "stepId": _spelled(undoing.plan[place].key),
            "error": undoing.failed[place].message,
            "timestamp": iso(undoing.failed[place].at),
        }
        for place in sorted(undoing.failed)
    ]
    plan: list[JSON] = [_spelled(item.key) for item in undoing.plan]
    return {
        "status": undoing.status,
        "startedAt": iso(undoing.started_at),
        "completedAt": iso(undoing.completed_at) if undoing.completed_at else None,
        "plan": plan,
        "completed": done,
        "failed": failed,
    }


def _spelled(key: NodeKey) -> str:
    return f"{key.node}[{key.iteration}]" if key.iteration else key.node


def _step(node: NodeState) -> Object:
    view: Object = {
        "status": node.status.value,
        "output": node.output,
        "attempts": node.attempt - (node.started_at is None),
        "startedAt": iso(node.started_at) if node.started_at else None,
        "completedAt": iso(node.completed_at) if node.completed_at else None,
    }
    if node.execution_time is not None and node.queue_time is not None:
        view["executionTime"] = node.execution_time
        view["queueTime"] = node.queue_time
    if node.worker is not None:
        view["worker"] = node.worker
    if node.errors:
        view["errors"] = list(node.errors)
    if node.error is not None and node.status is not NodeStatus.COMPLETED:
        view["error"] = error_view(node.error)
    return view


def _values(names: Context) -> Object:
    values = {name: names.get(name) for name in sorted(names.keys())}
    return {
        name: value for name, value in values.items() if not isinstance(value, Lazy | Undefined)
    }
