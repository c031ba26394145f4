"""Cancellation triggers: events that end an instance, from its acceptance until its end begins.

Their subscriptions follow from the state: open while the instance listens, closed once it does not,
open again when a retry takes its end back. What they compare an event with is read in the context
as it is when the event is decided on; only what never changes stands in the index.
"""

from __future__ import annotations

from tenuto.core.plan import Plan
from tenuto.core.scope import scope_of
from tenuto.core.state import InstanceState
from tenuto.core.terms import fixed_terms
from tenuto.expr import ExpressionError, Steps, is_fixed
from tenuto.model.effects import CloseWait, Effect, OpenWait
from tenuto.model.events import Event
from tenuto.model.graph import CancellationTrigger
from tenuto.model.json import JSON


def listens(plan: Plan, state: InstanceState) -> bool:
    """Whether an event may cancel the instance: its end has not begun."""
    if not plan.definition.cancellation_triggers or not state.version or state.status.is_final:
        return False
    # While it is paused nothing is cancelled yet, and a cancel still counts.
    return state.ending is None or state.pause is not None


def subscriptions(
    plan: Plan, state: InstanceState, *, was_listening: bool, steps: Steps
) -> list[Effect]:
    """The effects that open or close the cancellation triggers, if they change."""
    is_listening = listens(plan, state)
    if is_listening == was_listening:
        return []
    if not is_listening:
        return [CloseWait(node="", iteration="", event_id=None)]
    return [
        _open(plan, state, number, trigger, steps)
        for number, trigger in enumerate(plan.definition.cancellation_triggers)
    ]


def _open(
    plan: Plan, state: InstanceState, number: int, trigger: CancellationTrigger, steps: Steps
) -> OpenWait:
    condition = plan.condition(trigger.event_condition)
    captures: tuple[JSON, ...] = ()
    is_settled = True
    if condition is not None:
        captures = tuple(condition.capture(scope_of(plan, state, steps=steps)))
        is_settled = all(is_fixed(condition))
    paths, values = fixed_terms(condition, captures, steps)
    return OpenWait(
        node="",
        iteration="",
        attempt=1,
        pattern=trigger.event_pattern,
        condition=trigger.event_condition,
        captures=captures if is_settled else None,
        since=state.created_at,
        term_paths=paths,
        term_values=values,
        correlation_id=None,
        arm=str(number),
        position=number,
        looks_back=False,
    )


def holds(plan: Plan, state: InstanceState, number: int, event: Event, steps: Steps) -> bool:
    """Whether a trigger's condition is true of an event now; one that fails is not."""
    condition = plan.condition(plan.definition.cancellation_triggers[number].event_condition)
    if condition is None:
        return True
    try:
        captured = condition.capture(scope_of(plan, state, steps=steps))
        return condition.matches(event.as_value(), captured, steps)
    except ExpressionError:
        return False
