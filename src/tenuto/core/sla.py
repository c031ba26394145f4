"""The SLA of an instance or a step: when it should have ended, and what is reported if it has not.

It changes nothing else: the instance goes on. It counts from the first beginning, through attempts,
pauses and a retry by hand, and tells each of its two moments once.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from tenuto.core.deciding import Deciding
from tenuto.core.moments import Moments
from tenuto.core.sla_entries import INSTANCE
from tenuto.core.state import attempt_of
from tenuto.core.timing import SLA_TIMERS
from tenuto.model.entries import SlaFired, SlaSet
from tenuto.model.graph import PlainLength, Sla
from tenuto.model.ids import NodeKey, around
from tenuto.model.inputs import Input, TimerDue, TimerKey, TimerKind

Kind: TypeAlias = Literal["sla-warning", "sla-breached"]
_KINDS: tuple[tuple[Kind, TimerKind], ...] = (
    ("sla-warning", TimerKind.SLA_WARNING),
    ("sla-breached", TimerKind.SLA_BREACH),
)


def set_by(d: Deciding, key: NodeKey, sla: Sla | None) -> SlaSet | None:
    """The entry for something with an SLA that begins now; UnknownCalendar."""
    if sla is None:
        return None
    begun = d.state.sla.get(key)
    if begun is not None:
        # Re-opened by a retry: its moments stay as they were.
        return SlaSet(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            warn_at=begun.warn_at,
            breach_at=begun.breach_at,
        )
    moments = Moments(d)
    return SlaSet(
        at=d.now,
        node=key.node,
        iteration=key.iteration,
        warn_at=_after(moments, sla.warn_after, sla),
        breach_at=_after(moments, sla.breach_after, sla),
        calendars=moments.calendars,
    )


def fired(d: Deciding, key: NodeKey, kind: Kind) -> None:
    """One of its moments has come, and what it is about has not ended."""
    begun = d.state.sla[key]
    due = begun.warn_at if kind == "sla-warning" else begun.breach_at
    assert due is not None
    attempt = attempt_of(d.state, key) if key != INSTANCE else 1
    d.emit(
        SlaFired(
            at=d.now, node=key.node, iteration=key.iteration, attempt=attempt, kind=kind, due=due
        )
    )


def notice(d: Deciding, input: Input, *, ends_all: bool) -> None:
    """Tell what has passed by the clock before an input that may be the end of it.

    First come the instance, the step that the input is about, and the loops around that; then all
    others, since an input may end any step. A timer of an SLA ends none, unless it `ends_all`.
    """
    first = [key for key in (INSTANCE, *_steps_of(d, input)) if key in d.state.sla]
    for key in first:
        _tell(d, key)
    is_of_sla = isinstance(input, TimerDue) and input.key.kind in SLA_TIMERS
    if is_of_sla and not ends_all:
        return
    due = {NodeKey(key.node, key.iteration) for key in d.state.sla_order.until(d.now)}
    for key in sorted(due, key=d.plan.place_of):
        _tell(d, key)


def _tell(d: Deciding, key: NodeKey) -> None:
    for kind in _due(d, key):
        fired(d, key, kind)


def _due(d: Deciding, key: NodeKey) -> list[Kind]:
    """What of an SLA has passed and was not told."""
    timers = d.state.timers
    return [
        kind
        for kind, timer_kind in _KINDS
        if (timer := timers.get(TimerKey(timer_kind, key.node, key.iteration))) is not None
        and timer.due <= d.now
    ]


def _steps_of(d: Deciding, input: Input) -> list[NodeKey]:
    source = input.key if isinstance(input, TimerDue) else input
    name, path = getattr(source, "node", None), getattr(source, "iteration", "")
    found: list[NodeKey] = []
    while isinstance(name, str) and name in d.plan.nodes:
        found.append(NodeKey(name, path))
        name, path = d.plan.nodes[name].loop, around(path) if path else ""
    return found


def _after(moments: Moments, length: PlainLength | None, sla: Sla) -> datetime | None:
    return None if length is None else moments.after(length, sla.calendar)
