"""What the entries of an SLA do to the state: its moments, its timers and what was told."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from tenuto.core.maps import with_item, without_item
from tenuto.core.state import InstanceState, SlaState
from tenuto.core.timing import SLA_TIMERS, clear_timer, set_timer
from tenuto.model.entries import SlaFired, SlaSet
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind

INSTANCE = NodeKey("")
"""The key of an instance's own SLA."""


def sla_set(state: InstanceState, entry: SlaSet) -> None:
    begun = state.sla.get(entry.key, SlaState())
    begun = replace(begun, warn_at=entry.warn_at, breach_at=entry.breach_at)
    state.sla = with_item(state.sla, entry.key, begun)
    set_again(state, entry.key, entry.at)


def sla_fired(state: InstanceState, entry: SlaFired) -> None:
    key, is_warning = entry.key, entry.kind == "sla-warning"
    kind = TimerKind.SLA_WARNING if is_warning else TimerKind.SLA_BREACH
    clear_timer(state, TimerKey(kind, key.node, key.iteration))
    begun = state.sla[key]
    changed = (
        replace(begun, warned_at=entry.at) if is_warning else replace(begun, breached_at=entry.at)
    )
    state.sla = with_item(state.sla, key, changed)


def set_again(state: InstanceState, key: NodeKey, at: datetime) -> None:
    """Set the timers of what was not told yet."""
    begun = state.sla.get(key)
    if begun is None:
        return
    moments = (
        None if begun.warned_at else begun.warn_at,
        None if begun.breached_at else begun.breach_at,
    )
    for kind, due in zip(SLA_TIMERS, moments, strict=True):
        set_timer(state, TimerKey(kind, key.node, key.iteration), due, at)


def forget(state: InstanceState, key: NodeKey) -> None:
    """A step has ended for good."""
    if key in state.sla:
        state.sla = without_item(state.sla, key)
