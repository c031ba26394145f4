"""Says which steps a join still waits for."""

from __future__ import annotations

from tenuto.core.edges import can_never_fire, has_fired
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.model.ids import NodeKey


def missing_steps(plan: Plan, state: InstanceState, key: NodeKey) -> list[str]:
    """The steps without an outcome that a join waits for; none where it does not wait."""
    planned, join = plan.nodes.get(key.node), state.joins.get(key)
    if planned is None or join is None or key in state.nodes:
        return []
    if has_fired(planned, join) or can_never_fire(planned, join):
        return []
    sources = dict.fromkeys(edge.source for edge in planned.incoming)
    nodes = {name: state.nodes.get(NodeKey(name, key.iteration)) for name in sources}
    return [name for name, node in nodes.items() if node is None or node.is_open]


def join_message(plan: Plan, state: InstanceState, key: NodeKey) -> str | None:
    """`1 of 2 are in; legs is missing`; None where it waits for nothing."""
    missing = missing_steps(plan, state, key)
    if not missing:
        return None
    planned, join = plan.nodes[key.node], state.joins[key]
    total, needed = len(planned.incoming) - join.dead, planned.node.at_least
    enough = "" if needed is None or needed == total else f", {needed} are needed"
    are = "is" if len(missing) == 1 else "are"
    return f"{join.taken} of {total} are in{enough}; {', '.join(missing)} {are} missing"
