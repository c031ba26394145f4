"""What an instance still owes the world, worked out from its state alone.

After a crash this is all that recovery needs: fold, ask what is outstanding, do it.
"""

from __future__ import annotations

from tenuto.core.attempt import start_attempt
from tenuto.core.deciding import Deciding
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.model.effects import Effect, SetTimer
from tenuto.model.graph import Task
from tenuto.model.status import NodeStatus


def outstanding(plan: Plan, state: InstanceState) -> tuple[Effect, ...]:
    """The attempts that should be running and the timers that should be set."""
    if state.status.is_final:
        return ()
    d = Deciding(plan, state, state.updated_at)
    for key in sorted(state.open):
        if state.nodes[key].status is NodeStatus.RUNNING and isinstance(
            plan[key.node].node.config, Task
        ):
            d.order(start_attempt(d, key))
    for timer_key in sorted(state.timers):
        timer = state.timers[timer_key]
        d.order(SetTimer(key=timer_key, due=timer.due, set_at=timer.set_at))
    return d.done().effects
