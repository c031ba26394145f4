"""The outstanding effects of an instance, worked out from its state alone.

After a crash recovery needs nothing else: fold the log, get the outstanding effects, perform them.
"""

from __future__ import annotations

from tenuto.core import compensation
from tenuto.core.attempt import start_attempt
from tenuto.core.child_start import resolve_child
from tenuto.core.deciding import GO_ON, Deciding
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.model.effects import Effect, SetTimer
from tenuto.model.graph import Executed, SubWorkflow
from tenuto.model.policy import Policies


def outstanding(plan: Plan, state: InstanceState, policies: Policies) -> tuple[Effect, ...]:
    """The attempts that should be running, the children to start and the timers to be set."""
    return outstanding_counted(plan, state, policies)[0]


def outstanding_counted(
    plan: Plan, state: InstanceState, policies: Policies
) -> tuple[tuple[Effect, ...], int]:
    """The same, and how many steps their expressions have taken."""
    if state.has_ended:
        return (), 0
    d = Deciding(plan, state, state.updated_at, policies)
    if state.compensation is not None and state.compensation.is_in_flight:
        d.order(compensation.start_attempt(d))
    for key in sorted(state.open_nodes()):
        if not state.nodes[key].is_in_flight:
            continue
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
