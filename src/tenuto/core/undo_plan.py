"""What is undone when an instance does not complete: which steps, in which order, with which input.

Every activation of a step that completed and has a compensation step is undone, and every child
that completed and can undo something itself; whatever completed last goes first. Nothing that this
reads changes once the plan is made: what is worked out at its turn is what the plan promised.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tenuto.core.plan import Plan
from tenuto.core.scope import cancellation_view, scope_of
from tenuto.core.state import InstanceState, NodeState
from tenuto.core.view import state_of
from tenuto.expr import Expression, ExpressionError, Undefined
from tenuto.model.entries import PlannedUndo, SkippedUndo
from tenuto.model.graph import CompensationStep
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.status import NodeStatus

NOT_COMPLETED = "not-completed"
CONDITION = "condition"


class UndoPlan(Struct, frozen=True):
    """What is undone, in this order, and what is not, with the reason."""

    plan: tuple[PlannedUndo, ...] = ()
    skipped: tuple[SkippedUndo, ...] = ()


def has_undo(plan: Plan, state: InstanceState) -> bool:
    """Whether anything that completed could be undone."""
    return plan.may_undo and any(True for _ in _completed(plan, state))


def plan_undo(plan: Plan, state: InstanceState) -> UndoPlan:
    """What would be undone now, and what not."""
    if not plan.may_undo:
        return UndoPlan()
    planned: list[PlannedUndo] = []
    skipped: list[SkippedUndo] = []
    found = sorted(_completed(plan, state), key=lambda item: item[1].written, reverse=True)
    completed: set[str] = set()
    for key, _ in found:
        completed.add(key.node)
        step = plan.undone_by.get(key.node)
        if step is None:
            name = key.node
        elif _is_wanted(plan, state, key, step):
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
        SkippedUndo(step_id=step.step_id, reason=NOT_COMPLETED)
        for name, step in plan.undone_by.items()
        if name not in completed
    )
    return UndoPlan(tuple(planned), tuple(skipped))


def undo_input(plan: Plan, state: InstanceState, item: PlannedUndo) -> JSON:
    """What a compensation is given; a condition that cannot be worked out is raised here."""
    step = plan.undo_steps[item.step_id]
    if not step.has_input and step.condition is None:
        return default_input(plan, state, item)
    scope = scope_of(plan, state, item.undone)
    if step.condition is not None:
        plan.expression(step.condition).truthy(scope)
    if not step.has_input:
        return default_input(plan, state, item)
    spelled = plan.undo_input(step)
    value = spelled.evaluate(scope) if isinstance(spelled, Expression) else spelled.render(scope)
    return None if isinstance(value, Undefined) else value


def _completed(plan: Plan, state: InstanceState) -> Iterator[tuple[NodeKey, NodeState]]:
    undone_by = plan.undone_by
    for key, node in state.nodes.items():
        if node.status is NodeStatus.COMPLETED and (node.can_be_undone or key.node in undone_by):
            yield key, node


def _is_wanted(plan: Plan, state: InstanceState, key: NodeKey, step: CompensationStep) -> bool:
    if step.condition is None:
        return True
    try:
        return plan.expression(step.condition).truthy(scope_of(plan, state, key))
    except ExpressionError:
        return True  # it fails at its turn, for people to see: nothing is left out in silence


def default_input(plan: Plan, state: InstanceState, item: PlannedUndo) -> Object:
    """What a compensation is given that does not say what it needs."""
    output = state.nodes[item.undone].output
    return {
        "originalOutput": {} if output is None else output,
        "workflowInput": state.input,
        "workflowState": state_of(plan, state),
        "cancellation": cancellation_view(state.cancellation),
    }
