"""The row of a request for a slot: which limits it counts for, and its place in the queue."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.core import InstanceState
from tenuto.model.durations import epoch_ms
from tenuto.model.effects import AskSlot
from tenuto.model.slots import (
    GLOBAL,
    NO_DEADLINE_MS,
    SlotRequest,
    SlotRules,
    mutex_key,
    own_key,
    tenant_key,
    type_key,
    user_key,
)
from tenuto.store.parts.slots import USUAL, WOKEN, SlotRow

_DEFAULT = SlotRules()


class SlotFacts(NamedTuple):
    """What is known of an instance that asks."""

    tenant: str
    state: InstanceState
    rules: SlotRules | None


def slot_row(asked: AskSlot, facts: SlotFacts) -> SlotRow:
    """The row of a request."""
    state = facts.state
    request = asked.request
    at = epoch_ms(state.updated_at)
    if request is None:
        return SlotRow(
            instance_id=state.id,
            node=asked.node,
            iteration=asked.iteration,
            tenant=facts.tenant,
            definition_id=state.definition_id,
            keys=(mutex_key(facts.tenant, asked.mutex),),
            number=asked.number,
            rank=at,
            asked_at=state.updated_at,
        )
    own = _own_key(facts, request)
    return SlotRow(
        instance_id=state.id,
        tenant=facts.tenant,
        definition_id=state.definition_id,
        keys=_keys(facts, request, own),
        own_key=own,
        own_limit=request.limit,
        on_full=request.on_full,
        number=asked.number,
        rank_class=WOKEN if asked.is_woken else USUAL,
        rank=at if asked.is_woken else _rank(facts, at),
        priority=state.priority,
        deadline=state.deadline,
        asked_at=state.updated_at,
    )


def _own_key(facts: SlotFacts, request: SlotRequest) -> str | None:
    if request.key is None:
        return None
    return own_key(facts.tenant, facts.state.definition_id, request.key)


def _keys(facts: SlotFacts, request: SlotRequest, own: str | None) -> tuple[str, ...]:
    """The limits that it counts for: a child only for those of its workflow."""
    keys = [] if own is None else [own]
    keys.append(type_key(facts.tenant, facts.state.definition_id))
    if facts.state.parent is None:
        if request.user:
            keys.append(user_key(facts.tenant, request.user))
        keys += [tenant_key(facts.tenant), GLOBAL]
    return tuple(keys)


def _rank(facts: SlotFacts, at: int) -> int:
    """Its place in the queue, which no later one can take for ever: time is part of every order."""
    rules = facts.rules or _DEFAULT
    match rules.order:
        case "fifo":
            return at
        case "priority":
            return at - facts.state.priority * rules.aging_ms
        case "deadline":
            deadline = facts.state.deadline
            return at + NO_DEADLINE_MS if deadline is None else epoch_ms(deadline)
