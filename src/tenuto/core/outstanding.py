"""The outstanding effects of an instance, worked out from its state alone.

After a crash recovery needs nothing else: fold the log, get the outstanding effects, perform them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from tenuto.core import compensation
from tenuto.core.attempt import start_attempt
from tenuto.core.child_start import resolve_child
from tenuto.core.deciding import GO_ON, Deciding
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.model.effects import Effect, SetTimer, StartAttempt
from tenuto.model.graph import Executed, SubWorkflow
from tenuto.model.ids import NodeKey
from tenuto.model.policy import Policies

AttemptKey: TypeAlias = tuple[str, str, int]
"""A node, its iteration, and the number of the attempt."""


def outstanding(
    plan: Plan,
    state: InstanceState,
    policies: Policies,
    besides: Collection[AttemptKey] = (),
) -> tuple[Effect, ...]:
    """The attempts that should be running, the children to start and the timers to be set.

    But for these attempts, whose inputs are not rendered.
    """
    return outstanding_counted(plan, state, policies, besides)[0]


def outstanding_counted(
    plan: Plan,
    state: InstanceState,
    policies: Policies,
    besides: Collection[AttemptKey] = (),
) -> tuple[tuple[Effect, ...], int]:
    """The same, and how many steps their expressions have taken."""
    if state.has_ended:
        return (), 0
    d = Deciding(plan, state, state.updated_at, policies)
    if state.compensation is not None and state.compensation.is_in_flight:
        d.order(compensation.start_attempt(d))
    for key in _in_flight(state, besides):
        config = plan[key.node].node.config
        if isinstance(config, Executed):
            d.order(start_attempt(d, key))
        elif isinstance(config, SubWorkflow):
            d.order(resolve_child(d, key))
    for timer_key in sorted(state.timers):
        timer = state.timers[timer_key]
        d.order(SetTimer(key=timer_key, due=timer.due, set_at=timer.set_at))
    if state.is_unsettled:
        d.order(SetTimer(key=GO_ON, due=state.created_at, set_at=state.created_at))
    decision = d.done()
    return decision.effects, decision.steps


def _in_flight(state: InstanceState, besides: Collection[AttemptKey] = ()) -> list[NodeKey]:
    nodes = state.nodes
    found = [key for key in state.open_nodes() if nodes[key].is_in_flight]
    if besides:
        found = [
            key for key in found if (key.node, key.iteration, nodes[key].attempt) not in besides
        ]
    return sorted(found)


def attempts_in_flight(plan: Plan, state: InstanceState) -> list[AttemptKey]:
    """The attempts of nodes that should be running; their inputs are not rendered."""
    if state.has_ended:
        return []
    return [
        (key.node, key.iteration, state.nodes[key].attempt)
        for key in _in_flight(state)
        if isinstance(plan[key.node].node.config, Executed)
    ]


def outstanding_attempt(
    plan: Plan, state: InstanceState, policies: Policies, attempt: AttemptKey
) -> StartAttempt | None:
    """This attempt, if it should be running; the others are not looked at."""
    if state.has_ended:
        return None
    d = Deciding(plan, state, state.updated_at, policies)
    if state.compensation is not None and state.compensation.is_in_flight:
        undoing = compensation.start_attempt(d)
        if (undoing.node, undoing.iteration, undoing.attempt) == attempt:
            return undoing
    step, iteration, number = attempt
    key = NodeKey(step, iteration)
    node = state.nodes.get(key)
    if node is None or not node.is_open or not node.is_in_flight or node.attempt != number:
        return None
    if not isinstance(plan[step].node.config, Executed):
        return None
    return start_attempt(d, key)
