"""Preview of an undo: a simulated cancel is decided on, up to the undo plan that it makes.

The plan is made by the same code as the real one, so the preview names the steps that would run.
Only results that arrive in the grace period of running attempts could add to it. Running children
are asked to end and undo themselves: the preview lists them, but they are not part of the plan.
"""

from __future__ import annotations

from collections.abc import Callable

from tenuto.core.decide import decide
from tenuto.core.deciding import GO_ON
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.core.undo_plan import UndoPlan, plan_undo, shown_input, undo_input
from tenuto.expr import ExpressionError, Steps
from tenuto.model.entries import PlannedUndo
from tenuto.model.inputs import CancelAsked, TimerDue, TimerKind
from tenuto.model.json import JSON, Object, size_of
from tenuto.model.policy import FORESEEN
from tenuto.model.status import Status


def undo_plan(plan: Plan, state: InstanceState, asked: CancelAsked) -> Object:
    """`{plan, skipped}`: what would be undone, in which order, with which input, and what not.

    Of more than a hundred steps, or of inputs of more than 4 MB together, the later ones are shown
    without `workflowInput` and `workflowState`, which are the same for all. Inputs beyond a budget
    of steps are not worked out, and those beyond one of bytes are not shown.
    `children` are the running ones, which undo themselves. For an instance that is being undone, or
    was, it is the plan that was made; for a completed one, the plan that its parent could request.
    """
    steps = Steps()
    after = _as_if(plan, state, asked)
    if after.compensation is not None:
        found = UndoPlan(after.compensation.plan, after.compensation.skipped)
    elif after.status is Status.COMPLETED:
        found = plan_undo(plan, after, steps)
    else:
        found = UndoPlan()
    return {
        "plan": _shown(plan, after, found, steps),
        "skipped": [
            {
                "stepId": each.step_id,
                **({"iteration": each.iteration} if each.iteration else {}),
                "reason": each.reason,
            }
            for each in found.skipped
        ],
        **({"children": children} if (children := _children(plan, state)) else {}),
    }


def _shown(plan: Plan, state: InstanceState, found: UndoPlan, steps: Steps) -> list[JSON]:
    """The steps to undo, with their inputs as far as these are shown."""
    shown: list[JSON] = []
    size = 0
    for place, item in enumerate(found.plan):
        if size > MOST_BYTES and not item.is_child:
            because = f"not shown: those before it have more than {MOST_BYTES:,} bytes"
            shown.append(_heading(item) | {"input": None, "error": because})
            continue
        input_of = undo_input if place < _WHOLE and size <= WHOLE_BYTES else shown_input
        planned = _planned(plan, state, item, input_of, steps)
        # Each may have the whole instance in it, which costs nothing before it is sent.
        size += size_of(planned["input"])
        shown.append(planned)
    return shown


def _children(plan: Plan, state: InstanceState) -> list[JSON]:
    """Children under way, each with the step that it is."""
    if state.status.is_final:
        return []
    return [
        {
            "stepId": key.node,
            **({"iteration": key.iteration} if key.iteration else {}),
            "instanceId": state.nodes[key].child_id,
        }
        for key in sorted(state.open_nodes(), key=plan.place_of)
        if state.nodes[key].child_id is not None
    ]


def _as_if(plan: Plan, state: InstanceState, asked: CancelAsked) -> InstanceState:
    """The state in which the undo plan is settled: nothing runs any more."""
    if state.status.is_final or state.compensation is not None:
        return state
    now = state.updated_at
    # The retry policies of tasks do not affect the plan.
    state = decide(plan, state, asked, now, FORESEEN).state
    while state.compensation is None and not state.status.is_final:
        due = _next(state)
        if due is None:
            break
        now = max(now, due.due)
        state = decide(plan, state, due, now, FORESEEN).state
    return state


def _next(state: InstanceState) -> TimerDue | None:
    """What brings an end nearer by itself: what a decision left over, or a grace that is over."""
    if state.is_unsettled:
        return TimerDue(key=GO_ON, due=state.created_at)
    graces = [(timer.due, key) for key, timer in state.timers.items() if key.kind is _GRACE]
    if not graces:
        return None
    due, key = min(graces)
    return TimerDue(key=key, due=due)


def _planned(
    plan: Plan,
    state: InstanceState,
    item: PlannedUndo,
    input_of: Callable[[Plan, InstanceState, PlannedUndo, Steps], JSON],
    steps: Steps,
) -> Object:
    shown = _heading(item)
    if item.is_child:
        return shown | {"input": None}
    if steps.taken > MOST_STEPS:
        because = f"not worked out: those before it took more than {MOST_STEPS:,} steps"
        return shown | {"input": None, "error": because}
    try:
        return shown | {"input": input_of(plan, state, item, steps)}
    except ExpressionError as error:
        return shown | {"input": None, "error": str(error)}


def _heading(item: PlannedUndo) -> Object:
    return {
        "stepId": item.step_id,
        "compensationFor": item.compensation_for,
        "iteration": item.iteration,
    }


_GRACE = TimerKind.GRACE
MOST_STEPS = 200_000
"""The most steps of the expressions of all inputs that are shown, beyond the last."""
_WHOLE = 100
"""So many inputs are shown whole: each may have the state of all steps in it."""
WHOLE_BYTES = 4_000_000
"""No further one is shown whole where those before it have more bytes together."""
MOST_BYTES = 8_000_000
"""No further one is shown at all."""
