"""The context of a task: facts about its instance, computed only when it asks."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from tenuto.core import InstanceState
from tenuto.core.scope import plain_scope
from tenuto.core.undo_plan import default_input
from tenuto.engine.turns.held import Held
from tenuto.model.effects import StartAttempt
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.status import NodeStatus
from tenuto.model.traces import of_attempt
from tenuto.tasks.context import BuiltInFacts, Facts
from tenuto.tasks.undo import UndoFacts


def context_of(held: Held, state: InstanceState | None = None) -> Facts:
    """The context that all attempts of an instance share; `state` is another one than its own."""
    state = held.state if state is None else state
    return Facts(
        tenant=held.tenant,
        correlation_id=state.correlation_id,
        deadline=state.deadline,
        previous_outputs=partial(_previous_outputs, state),
    )


def context_for(held: Held, state: InstanceState, order: StartAttempt, common: Facts) -> Facts:
    """The context of one attempt; of a compensation, also the step that it undoes.

    Of a built-in task, also its node and what the expressions of that node see.
    """
    plan = held.plan
    planned = plan.nodes.get(order.node)
    work = None if planned is None else planned.work
    is_plain = work is not None and work.built_in is None and state.traceparent is None
    if is_plain and state.compensation is None:
        return common
    if state.traceparent is not None:
        key = NodeKey(order.node, order.iteration)
        own = of_attempt(state.traceparent, state.id, key, order.attempt)
        common = replace(common, traceparent=own)
    if work is not None and work.built_in is not None:
        key = NodeKey(order.node, order.iteration)
        facts = BuiltInFacts(
            tenant=held.tenant, config=work.built_in, scope=partial(plain_scope, plan, state, key)
        )
        return replace(common, built_in=facts)
    undoing = state.compensation
    if undoing is None or undoing.current is None:
        return common
    item = undoing.plan[undoing.current]
    if item.key != NodeKey(order.node, order.iteration):
        return common
    has_input = plan.undo_steps[item.step_id].has_input
    undo = UndoFacts(
        step_id=item.compensation_for,
        has_input=has_input,
        output=state.nodes[item.undone].output,
        everything=partial(default_input, plan, state, item)
        if has_input
        else partial(_object, order.input),
    )
    return replace(common, undo=undo)


def _object(value: JSON) -> Object:
    assert isinstance(value, dict)  # the default input is one
    return value


def _previous_outputs(state: InstanceState) -> Object:
    return {
        key.node: node.output
        for key, node in state.nodes.items()
        if node.status is NodeStatus.COMPLETED and not key.iteration
    }
