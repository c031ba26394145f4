"""How full the limits of a tenant are: how many hold a slot, how many wait, and some holders."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

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
from tenuto.workspace.paces import paced, paces_of, until

MOST_USES = 100
"""The most limits that are listed."""
MOST_HOLDERS = 5
"""So many holders of each are named."""
MOST_LOOKED_AT = 1_000
"""So many slots are looked at that are held, and so many that are waited for."""
MOST_COUNTED = 20_000
"""Up to so many that wait for a limit are counted."""
_KINDS = ("global", "tenant", "type", "user", "key", "mutex", "rate", "debounce")


async def limit_uses(slots: Slots, limits: Limits, tenant: str, now: int) -> LimitUses:
    """How full the limits of a tenant are; a bounded number of rows is read."""
    rows = await slots.configs()
    held = await slots.held(tenant, limit=MOST_LOOKED_AT)
    waiting = await slots.waiting(tenant, limit=MOST_LOOKED_AT)
    most = {key: limits.of(key) for key in _named(tenant, rows)}
    most |= _of_slots((*held, *waiting), limits)
    keys = sorted(key for key, each in most.items() if each is not None)
    paces = await paces_of(slots, waiting)
    taken = await slots.counts(keys) if keys else {}
    lines = await _lines(slots, tenant, [*keys, *paces], waiting)
    holders, waiters = _holders(held), _waiters(waiting)
    uses = [
        LimitUse(
            limit=key,
            held=taken.get(key, 0),
            max=most[key],
            waiting=lines.get(key, 0),
            holders=holders[key][:MOST_HOLDERS],
            waiters=waiters[key][:MOST_HOLDERS],
        )
        for key in keys
    ]
    uses += [
        LimitUse(
            limit=pace.limit,
            held=pace.held,
            max=pace.max,
            waiting=lines[pace.limit],
            holders=[],
            waiters=waiters[pace.limit][:MOST_HOLDERS],
            until=until(slot, paces),
        )
        for slot in {slot.blocked_on: slot for slot in waiting}.values()
        for pace in paced(slot, paces, now)
    ]
    telling = sorted(filter(_tells, uses), key=lambda use: (-use.waiting, -use.held, use.limit))
    return LimitUses(
        items=sorted(telling[:MOST_USES], key=_place),
        is_complete=len(telling) <= MOST_USES
        and max(len(held), len(waiting)) < MOST_LOOKED_AT
        and max(lines.values(), default=0) < MOST_COUNTED,
    )


async def _lines(
    slots: Slots, tenant: str, keys: Sequence[str], waiting: Iterable[Slot]
) -> dict[str, int]:
    """How many wait for each; of debounced ones, which are in no line, those that were read."""
    found = await slots.lines(tenant, keys, MOST_COUNTED) if keys else {}
    return found | Counter(slot.blocked_on for slot in waiting if slot.state == "settling")


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


def _waiters(waiting: Iterable[Slot]) -> defaultdict[str, list[SlotHolder]]:
    found: defaultdict[str, list[SlotHolder]] = defaultdict(list)
    for slot in waiting:
        waiter = SlotHolder(
            instance_id=slot.instance_id,
            step_id=slot.node or None,
            iteration=slot.iteration,
            since=slot.asked_at,
        )
        found[slot.blocked_on].append(waiter)
    return found


def _tells(use: LimitUse) -> bool:
    """A key or a mutex that nothing waits for is none to look at."""
    return use.waiting > 0 or _kind(use.limit) not in ("key", "mutex")


def _place(use: LimitUse) -> tuple[int, int, str]:
    return (_KINDS.index(_kind(use.limit)), -use.waiting, use.limit)


def _kind(limit: str) -> str:
    return limit.partition(":")[0]
