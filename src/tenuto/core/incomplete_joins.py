"""Says which steps a join still waits for, and which of them cannot arrive any more."""

from __future__ import annotations

from tenuto.core.edges import can_never_fire, has_fired
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState, NodeState
from tenuto.model.ids import NodeKey
from tenuto.model.status import NodeStatus


def missing_steps(plan: Plan, state: InstanceState, key: NodeKey) -> dict[str, str | None]:
    """The steps that a join waits for, with why one cannot arrive any more; none: it does not wait.

    The edges of a step that failed, or that was withdrawn, with its instance have not arrived.
    """
    planned, join = plan.nodes.get(key.node), state.joins.get(key)
    if planned is None or join is None or key in state.nodes:
        return {}
    if has_fired(planned, join) or can_never_fire(planned, join):
        return {}
    sources = dict.fromkeys(edge.source for edge in planned.incoming)
    nodes = {name: state.nodes.get(NodeKey(name, key.iteration)) for name in sources}
    return {
        name: _lost(state, node)
        for name, node in nodes.items()
        if node is None or not _has_arrived(node)
    }


def join_message(plan: Plan, state: InstanceState, key: NodeKey) -> str | None:
    """`1 of 2 are in; legs is missing`; None where it waits for nothing."""
    missing = missing_steps(plan, state, key)
    if not missing:
        return None
    planned, join = plan.nodes[key.node], state.joins[key]
    total, needed = len(planned.incoming) - join.dead, planned.node.at_least
    enough = "" if needed is None or needed == total else f", {needed} are needed"
    names = [name if why is None else f"{name} ({why})" for name, why in missing.items()]
    are = "is" if len(names) == 1 else "are"
    return f"{join.taken} of {total} are in{enough}; {', '.join(names)} {are} missing"


def _has_arrived(node: NodeState) -> bool:
    """Whether the edges of a node have arrived, taken or dead."""
    if node.is_withdrawn or node.status in (NodeStatus.PENDING, NodeStatus.FAILED):
        return False
    return not node.is_open or node.grace_until is not None


def _lost(state: InstanceState, node: NodeState | None) -> str | None:
    if node is None:
        return "will not begin" if state.ending is not None or state.status.is_final else None
    match node.status:
        case NodeStatus.FAILED | NodeStatus.CANCELLED:
            return node.status.value.lower()
        case NodeStatus.COMPLETED:
            return "completed too late"
        case _:
            return None if node.grace_until is None else "asked to stop"
