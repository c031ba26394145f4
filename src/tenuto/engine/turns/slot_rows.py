"""The row of a request for a slot: which limits it counts for, and its place in the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from tenuto.core import InstanceState
from tenuto.model.durations import epoch_ms
from tenuto.model.effects import AskSlot
from tenuto.model.inputs import Started
from tenuto.model.slots import (
    GLOBAL,
    NO_DEADLINE_MS,
    SlotRequest,
    SlotRules,
    debounce_key,
    mutex_key,
    own_key,
    rank_by_priority,
    rate_key,
    tenant_key,
    type_key,
    user_key,
)
from tenuto.store.parts.paces import Pace
from tenuto.store.parts.slot_rows import USUAL, WOKEN, SlotRow

_DEFAULT = SlotRules()


class SlotFacts(NamedTuple):
    """What is known of an instance that asks."""

    tenant: str
    state: InstanceState
    rules: SlotRules | None
    asked_at: datetime


class Counted(NamedTuple):
    """The limits that a slot counts for, most special first, and which of them is its own."""

    keys: tuple[str, ...]
    own_key: str | None = None
    own_limit: int = 0


def counted_at_start(tenant: str, started: Started, request: SlotRequest) -> Counted:
    """The limits that an instance counts for that is about to start."""
    is_child = started.parent is not None
    return _counted(tenant, started.definition_id, request, is_child=is_child)


def slot_row(asked: AskSlot, facts: SlotFacts, counted: Counted | None = None) -> SlotRow:
    """The row of a request; `counted`: what it counts for, where that is known already."""
    state = facts.state
    request = asked.request
    at = epoch_ms(facts.asked_at)
    if request is None:
        mutex = mutex_key(facts.tenant, asked.mutex)
        return SlotRow(
            instance_id=state.id,
            node=asked.node,
            iteration=asked.iteration,
            tenant=facts.tenant,
            definition_id=state.definition_id,
            keys=(mutex,),
            own_key=mutex,
            own_limit=1,
            number=asked.number,
            rank=at,
            asked_at=facts.asked_at,
        )
    definition_id = state.definition_id
    if counted is None:
        is_child = state.parent is not None
        counted = _counted(facts.tenant, definition_id, request, is_child=is_child)
    return SlotRow(
        instance_id=state.id,
        tenant=facts.tenant,
        definition_id=state.definition_id,
        keys=counted.keys,
        own_key=counted.own_key,
        own_limit=counted.own_limit,
        on_full=request.on_full,
        number=asked.number,
        rank_class=WOKEN if asked.is_woken else USUAL,
        rank=at if asked.is_woken else _rank(facts, at, _priority(state, request)),
        priority=_priority(state, request),
        deadline=state.deadline,
        asked_at=facts.asked_at,
        pace=None if asked.is_woken else _pace(facts, request),
        above=(state.parent.slots or None) if state.parent is not None else None,
        state="waiting" if asked.is_woken else _first_state(request),
    )


def _priority(state: InstanceState, request: SlotRequest) -> int:
    return state.priority if request.priority is None else request.priority


def _first_state(request: SlotRequest) -> Literal["waiting", "settling", "on-hold"]:
    if request.is_on_hold:
        return "on-hold"
    return "waiting" if request.debounce is None else "settling"


def _pace(facts: SlotFacts, request: SlotRequest) -> str | None:
    """When it may begin, of a first request."""
    tenant, workflow = facts.tenant, facts.state.definition_id
    debounce, rate = request.debounce, request.rate
    if debounce is not None:
        debounce = replace(debounce, key=debounce_key(tenant, workflow, debounce.key))
    if rate is not None:
        rate = replace(rate, key=rate_key(tenant, workflow, rate.key))
    if debounce is None and rate is None:
        return None
    return msgspec.json.encode(Pace(debounce=debounce, rate=rate)).decode()


def _counted(tenant: str, definition_id: str, request: SlotRequest, *, is_child: bool) -> Counted:
    """The limits that it counts for: a child only for those of its workflow."""
    own = None if request.key is None else own_key(tenant, definition_id, request.key)
    keys = [] if own is None else [own]
    keys.append(type_key(tenant, definition_id))
    if not is_child:
        if request.user:
            keys.append(user_key(tenant, request.user))
        keys += [tenant_key(tenant), GLOBAL]
    return Counted(tuple(keys), own, request.limit)


def _rank(facts: SlotFacts, at: int, priority: int) -> int:
    """Its place in the queue, which no later one can take for ever: time is part of every order."""
    rules = facts.rules or _DEFAULT
    match rules.order:
        case "fifo":
            return at
        case "priority":
            return rank_by_priority(at, priority, rules.aging_ms)
        case "deadline":
            deadline = facts.state.deadline
            return at + NO_DEADLINE_MS if deadline is None else epoch_ms(deadline)
