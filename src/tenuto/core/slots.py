"""The slot of an instance: asked for at its start, given back at rest, asked for when it is woken.

While it has none nothing of the instance begins, as if it were paused; an end needs no slot. The
slot is a fact of the log: `SYSTEM_SET` with what is asked for, and whether it is there.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from tenuto.core.deciding import STALE, Deciding, Rejection
from tenuto.core.moments import Moments, UnknownCalendar
from tenuto.core.scope import scope_of
from tenuto.core.state import InstanceState
from tenuto.expr import ExpressionError, Undefined
from tenuto.model.durations import iso
from tenuto.model.effects import AskSlot, ReleaseSlot
from tenuto.model.entries import StatusChanged, SystemSet
from tenuto.model.inputs import Admitted, Started
from tenuto.model.json import JSON, Object
from tenuto.model.slots import SLOT, TIMEOUT_AT, SlotRequest
from tenuto.model.status import NodeStatus, Status

NO_KEY = "TEN-2834"


def slot_of(state: InstanceState) -> SlotRequest | None:
    """The slot that an instance asks for, or has; None: no limit counts it."""
    if not state.system:
        return None
    found = state.system.get(SLOT)
    return None if found is None else msgspec.convert(found, SlotRequest)


def wanted(d: Deciding, asked: Started) -> SlotRequest | Rejection | None:
    """What a start asks for; None: no limit is in use."""
    own = d.plan.definition.options.concurrency
    if d.plan.rehearsal is not None or (own is None and d.policies.slots is None):
        return None
    user = "" if asked.user is UNSET else asked.user
    if own is None:
        return SlotRequest(user=user)
    key = ""
    if own.key is not None:
        template = d.plan.template("", "concurrency", own.key)
        # Only the input exists yet, as for a deadline.
        scope = scope_of(d.plan, d.state) | {
            "ctx": {"input": asked.input},
            "workflow": {"input": asked.input},
        }
        try:
            value: JSON | Undefined = template.render(scope)
        except ExpressionError as error:
            return Rejection(code=NO_KEY, message=f"options.concurrency.key: {error}")
        if value is None or isinstance(value, Undefined) or value == "":
            message = "options.concurrency.key gives no value for this input"
            return Rejection(code=NO_KEY, message=message)
        key = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return SlotRequest(
        user=user,
        key=key,
        limit=own.limit,
        keeps=own.hold_while_waiting,
        on_full=own.on_full,
    )


def ask(d: Deciding, slot: SlotRequest, *, is_woken: bool = False) -> None:
    """Ask for a slot; nothing begins until it is granted."""
    _note(d, slot)
    d.order(AskSlot(number=slot.number, request=slot, is_woken=is_woken))


def admitted(d: Deciding, granted: Admitted) -> Rejection | None:
    """The instance has its slot: it begins, or goes on."""
    slot = slot_of(d.state)
    is_over = d.state.status.is_final or d.state.ending is not None
    if slot is None or slot.state != "asked" or slot.number != granted.number or is_over:
        return Rejection(code=STALE, message="this slot is not asked for any more")
    is_first = d.state.status is Status.CREATED
    _note(d, replace(slot, state="held"), _timeout_at(d) if is_first else None)
    if is_first:
        d.emit(StatusChanged(at=d.now, from_=Status.CREATED, to=Status.RUNNING))
    return None


def ask_again(d: Deciding) -> None:
    """Ask for the slot of an instance that had given it back, since something is to begin."""
    slot = slot_of(d.state)
    if slot is not None and slot.state == "released":
        ask(d, replace(slot, state="asked", number=slot.number + 1), is_woken=True)


def retried(d: Deciding) -> None:
    """A failed instance is re-opened: what it held was given back at its end."""
    slot = slot_of(d.state)
    if slot is not None:
        ask(d, replace(slot, state="asked", number=slot.number + 1), is_woken=True)


def give_back(d: Deciding) -> None:
    """Give the slot back where nothing is in flight, or the instance ends."""
    state = d.state
    if state.status.is_final:
        return  # given back with the end, however that came
    if state.running and state.ending is None:
        return  # most decisions are on instances at work
    slot = slot_of(state)
    if slot is None:
        return
    if slot.state == "asked" and state.ending is not None:
        # What is left to do, and to undo, needs no slot.
        _note(d, replace(slot, state="released"))
        d.order(ReleaseSlot())
    elif slot.state == "held" and not slot.keeps and _rests(state):
        _note(d, replace(slot, state="released"))
        d.order(ReleaseSlot())


def _rests(state: InstanceState) -> bool:
    """Whether an instance only waits, sleeps or is paused."""
    if state.running or state.ending is not None or state.is_unsettled:
        return False
    return all(
        ((node := state.nodes[key]).status is NodeStatus.WAITING and node.mutex is None)
        or node.is_loop
        for key in state.open_nodes()
    )


def _timeout_at(d: Deciding) -> datetime | None:
    """When `options.timeout` ends an instance that begins now."""
    timeout = d.plan.definition.options.timeout
    if timeout is None:
        return None
    try:
        return Moments(d).after(timeout)
    except UnknownCalendar:
        return None  # it was removed while the instance waited: no time-out can be computed


def _note(d: Deciding, slot: SlotRequest, timeout_at: datetime | None = None) -> None:
    values: Object = {SLOT: msgspec.to_builtins(slot)}
    if timeout_at is not None:
        values[TIMEOUT_AT] = iso(timeout_at)
    d.emit(SystemSet(at=d.now, values=values))
