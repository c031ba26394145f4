"""How full the limits of a tenant are: how many hold a slot, how many wait, and some holders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from tenuto.model.slots import (
    ANY,
    GLOBAL,
    ConcurrencyConfig,
    tenant_key,
    type_key,
    user_key,
)
from tenuto.store.parts.limits import Limits
from tenuto.store.parts.slot_rows import ConcurrencyRow, Slot
from tenuto.store.parts.slots import Slots
from tenuto.workspace.limit_values import LimitUse, LimitUses, SlotHolder

MOST_USES = 100
"""The most limits that are listed."""
MOST_HOLDERS = 5
"""So many holders of each are named."""
MOST_LOOKED_AT = 1_000
"""So many slots are looked at that are held, and so many that are waited for."""
MOST_COUNTED = 20_000
"""Up to so many that wait for a limit are counted."""
_KINDS = ("global", "tenant", "type", "user", "key", "mutex")


async def limit_uses(slots: Slots, limits: Limits, tenant: str) -> LimitUses:
    """How full the limits of a tenant are; a bounded number of rows is read."""
    rows = await slots.configs()
    held = await slots.held(tenant, limit=MOST_LOOKED_AT)
    waiting = await slots.waiting(tenant, limit=MOST_LOOKED_AT)
    most = {key: limits.of(key) for key in _named(tenant, rows)}
    most |= _of_slots((*held, *waiting), limits)
    keys = sorted(key for key, each in most.items() if each is not None)
    taken = await slots.counts(keys) if keys else {}
    lines = await slots.lines(tenant, keys, MOST_COUNTED) if keys else {}
    holders = _holders(held)
    uses = [
        LimitUse(
            limit=key,
            held=taken.get(key, 0),
            max=each,
            waiting=lines.get(key, 0),
            holders=holders[key][:MOST_HOLDERS],
        )
        for key in keys
        if (each := most[key]) is not None
    ]
    telling = sorted(filter(_tells, uses), key=lambda use: (-use.waiting, -use.held, use.limit))
    return LimitUses(
        items=sorted(telling[:MOST_USES], key=_place),
        is_complete=len(telling) <= MOST_USES
        and max(len(held), len(waiting)) < MOST_LOOKED_AT
        and max(lines.values(), default=0) < MOST_COUNTED,
    )


def _named(tenant: str, rows: Iterable[ConcurrencyRow]) -> list[str]:
    """The limits that are set by name, also where nothing counts for them yet."""
    found = [GLOBAL, tenant_key(tenant)]
    for row in [each for each in rows if each.tenant == tenant]:
        config = msgspec.json.decode(row.document, type=ConcurrencyConfig)
        found += [type_key(tenant, name) for name in config.workflow_type_limits if name != ANY]
        found += [user_key(tenant, name) for name in config.user_limits if name != ANY]
    return found


def _of_slots(slots: Iterable[Slot], limits: Limits) -> dict[str, int | None]:
    return {
        key: slot.own_limit if key == slot.own_key else limits.of(key)
        for slot in slots
        for key in slot.keys
    }


def _holders(held: Iterable[Slot]) -> defaultdict[str, list[SlotHolder]]:
    found: defaultdict[str, list[SlotHolder]] = defaultdict(list)
    for slot in held:
        holder = SlotHolder(
            instance_id=slot.instance_id,
            step_id=slot.node or None,
            iteration=slot.iteration,
            since=slot.held_at,
        )
        for key in slot.keys:
            found[key].append(holder)
    return found


def _tells(use: LimitUse) -> bool:
    """A key or a mutex that nothing waits for is none to look at."""
    return use.waiting > 0 or _kind(use.limit) not in ("key", "mutex")


def _place(use: LimitUse) -> tuple[int, int, str]:
    return (_KINDS.index(_kind(use.limit)), -use.waiting, use.limit)


def _kind(limit: str) -> str:
    return limit.partition(":")[0]
