"""Timers of an instance: set, cleared, and how many are near enough to live in memory.

A timer is near when it was set at most `NEAR` ahead. Near ones follow from the log and need no row,
as long as some process owns the instance; all others are rows.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from tenuto.core.state import InstanceState, Timer
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind

NODE_TIMERS = (
    TimerKind.DELAY,
    TimerKind.RETRY,
    TimerKind.WAIT_TIMEOUT,
    TimerKind.NODE_TIMEOUT,
    TimerKind.GRACE,
)


def with_timer(
    state: InstanceState, key: TimerKey, due: datetime | None, at: datetime
) -> InstanceState:
    """`state` with a timer set; without a due moment there is none to set."""
    if due is None:
        return state
    timer = Timer(due, at)
    before = state.timers.get(key)
    near = state.near_timers + timer.is_near - (before is not None and before.is_near)
    return replace(state, timers=state.timers.insert(key, timer), near_timers=near)


def without_timer(state: InstanceState, key: TimerKey) -> InstanceState:
    """The same state when there is no such timer: `deciding` sees by identity that none changed."""
    before = state.timers.get(key)
    if before is None:
        return state
    return replace(
        state,
        timers=state.timers.remove(key),
        near_timers=state.near_timers - before.is_near,
    )


def without_node_timers(state: InstanceState, key: NodeKey) -> InstanceState:
    """`state` with every timer of one node cleared."""
    if state.timers:
        for kind in NODE_TIMERS:
            state = without_timer(state, TimerKey(kind, *key))
    return state
