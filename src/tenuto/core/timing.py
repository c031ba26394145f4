"""Timers of an instance: set, cleared, and how many are near enough to live in memory.

A timer is near when it was set at most `NEAR` ahead. Near ones follow from the log and need no row,
as long as some process owns the instance; all others are rows.
"""

from __future__ import annotations

from datetime import datetime

from tenuto.core.maps import with_item, without_item
from tenuto.core.state import InstanceState, NodeState, Timer
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind

NODE_TIMERS = (
    TimerKind.DELAY,
    TimerKind.RETRY,
    TimerKind.WAIT_TIMEOUT,
    TimerKind.NODE_TIMEOUT,
    TimerKind.GRACE,
)
APPROVAL_TIMERS = (TimerKind.REMINDER, TimerKind.ESCALATION)
SLA_TIMERS = (TimerKind.SLA_WARNING, TimerKind.SLA_BREACH)


def set_timer(state: InstanceState, key: TimerKey, due: datetime | None, at: datetime) -> None:
    """Set a timer; without a due moment there is none to set."""
    if due is None:
        return
    timer = Timer(due, at)
    before = state.timers.get(key)
    state.timers = with_item(state.timers, key, timer)
    if key.kind in SLA_TIMERS:
        if before is not None:
            state.sla_order = state.sla_order.without_item((before.due, key))
        state.sla_order = state.sla_order.with_item((due, key))
    state.near_timers += timer.is_near - (before is not None and before.is_near)


def clear_timer(state: InstanceState, key: TimerKey) -> None:
    """Clear a timer; where there is none, `timers` stays the same map: `deciding` sees by that."""
    before = state.timers.get(key)
    if before is not None:
        state.timers = without_item(state.timers, key)
        state.near_timers -= before.is_near
        if key.kind in SLA_TIMERS:
            state.sla_order = state.sla_order.without_item((before.due, key))


def clear_node_timers(state: InstanceState, key: NodeKey, node: NodeState) -> None:
    """Clear every timer of one node."""
    if state.timers:
        kinds: tuple[TimerKind, ...] = NODE_TIMERS
        if node.approval is not None:
            kinds += APPROVAL_TIMERS
        if key in state.sla:
            kinds += SLA_TIMERS
        for kind in kinds:
            clear_timer(state, TimerKey(kind, key.node, key.iteration))
