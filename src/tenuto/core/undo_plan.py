"""The undo plan of an instance that does not complete: its steps, their order and their input.

Every activation of a step that completed and has a compensation step is undone, and every child
that completed and can undo something itself; the last completed goes first. So is a step that
failed although its work was done. A step that a rerun took over is undone by the instance that ran
it: several reruns may have taken it over. The data that this reads do not change once the plan is
made, except the status, which is seen as it was then: so the input that is rendered when a step has
its turn, or is retried by hand, is the one that the plan shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tenuto.core.plan import Plan
from tenuto.core.scope import cancellation_view, scope_of
from tenuto.core.state import InstanceState, NodeState
from tenuto.core.task_input import GivenInput
from tenuto.core.view import state_of
from tenuto.expr import Expression, ExpressionError, Rendered, Steps, Undefined
from tenuto.model.entries import PlannedUndo, SkippedUndo
from tenuto.model.graph import CompensationStep
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status

NOT_COMPLETED = "not-completed"
CONDITION = "condition"
TAKEN_OVER = "taken-over"


class UndoPlan(Struct, frozen=True):
    """The steps to undo, in this order, and the steps that are not undone, with the reason."""

    plan: tuple[PlannedUndo, ...] = ()
    skipped: tuple[SkippedUndo, ...] = ()


def is_wanted(plan: Plan, state: InstanceState) -> bool:
    """Whether the end that an instance is on its way to undoes what there is to undo."""
    if state.ending is None or state.ending.status is Status.COMPLETED:
        return False
    if state.cancellation is not None:
        return state.cancellation.should_compensate
    return plan.definition.options.compensate_on_failure is not False


def has_undo(plan: Plan, state: InstanceState) -> bool:
    """Whether anything that completed could be undone."""
    return plan.may_undo and any(True for _ in _undoable(plan, state))


def plan_undo(plan: Plan, state: InstanceState, steps: Steps) -> UndoPlan:
    """What would be undone now, and what not."""
    if not plan.may_undo:
        return UndoPlan()
    planned: list[PlannedUndo] = []
    skipped: list[SkippedUndo] = []
    found = sorted(_undoable(plan, state), key=lambda item: item[1].written, reverse=True)
    completed: set[str] = set()
    for key, _ in found:
        completed.add(key.node)
        step = plan.undone_by.get(key.node)
        if step is None:
            name = key.node
        elif _holds(plan, state, key, step, steps):
            name = step.step_id
        else:
            skipped.append(
                SkippedUndo(step_id=step.step_id, iteration=key.iteration, reason=CONDITION)
            )
            continue
        planned.append(
            PlannedUndo(step_id=name, compensation_for=key.node, iteration=key.iteration)
        )
    skipped += (
        SkippedUndo(step_id=step.step_id, reason=_why_not(state, name))
        for name, step in plan.undone_by.items()
        if name not in completed
    )
    return UndoPlan(tuple(planned), tuple(skipped))


def undo_input(plan: Plan, state: InstanceState, item: PlannedUndo, steps: Steps) -> JSON:
    """What a compensation is given; a condition that cannot be worked out is raised here."""
    return undo_given(plan, state, item, steps).value


def undo_given(plan: Plan, state: InstanceState, item: PlannedUndo, steps: Steps) -> GivenInput:
    """The same, with the places in it where secrets belong."""
    spelled_out = _spelled_out(plan, state, item, steps)
    return GivenInput(default_input(plan, state, item)) if spelled_out is None else spelled_out


def shown_input(plan: Plan, state: InstanceState, item: PlannedUndo, steps: Steps) -> JSON:
    """The same for a list: a default input without the parts that all items share."""
    spelled_out = _spelled_out(plan, state, item, steps)
    return own_input(state, item) if spelled_out is None else spelled_out.value


def _spelled_out(
    plan: Plan, state: InstanceState, item: PlannedUndo, steps: Steps
) -> GivenInput | None:
    """The input that a compensation step says it needs; None: it does not say."""
    step = plan.undo_steps[item.step_id]
    if not step.has_input and step.condition is None:
        return None
    scope = scope_of(plan, state.before_its_end(), item.undone, steps=steps)
    if step.condition is not None:
        plan.expression(step.condition).truthy(scope)
    if not step.has_input:
        return None
    spelled = plan.undo_input(step)
    rendered = (
        Rendered(spelled.evaluate(scope))
        if isinstance(spelled, Expression)
        else spelled.render_with_secrets(scope)
    )
    value = rendered.value
    return GivenInput(None if isinstance(value, Undefined) else value, rendered.secrets)


def _undoable(plan: Plan, state: InstanceState) -> Iterator[tuple[NodeKey, NodeState]]:
    """What has left work behind that something undoes, in no order."""
    undone_by = plan.undone_by
    for key, node in state.nodes.items():
        if node.leaves_work and (node.can_be_undone or key.node in undone_by):
            yield key, node


def _why_not(state: InstanceState, name: str) -> str:
    node = state.nodes.get(NodeKey(name))
    return TAKEN_OVER if node is not None and node.is_taken_over else NOT_COMPLETED


def _holds(
    plan: Plan, state: InstanceState, key: NodeKey, step: CompensationStep, steps: Steps
) -> bool:
    if step.condition is None:
        return True
    try:
        scope = scope_of(plan, state, key, steps=steps)
        return plan.expression(step.condition).truthy(scope)
    except ExpressionError:
        return True  # it fails at its turn, for people to see: nothing is left out in silence


def own_input(state: InstanceState, item: PlannedUndo) -> Object:
    """What of the default input is about this one alone: the rest is the whole instance, again."""
    return {
        "originalOutput": _original_output(state, item),
        "cancellation": cancellation_view(state.cancellation),
    }


def default_input(plan: Plan, state: InstanceState, item: PlannedUndo) -> Object:
    """What a compensation is given that does not say what it needs."""
    return {
        "originalOutput": _original_output(state, item),
        "workflowInput": state.input,
        "workflowState": state_of(plan, state),
        "cancellation": cancellation_view(state.cancellation),
    }


def _original_output(state: InstanceState, item: PlannedUndo) -> JSON:
    output = state.nodes[item.undone].output
    return {} if output is None else output
