"""What a change of limits would do at once, computed from those that wait and nothing written.

The order is that of a pass of admission: turns of tenants where they share a limit, then classes,
then ranks. `tests/store/test_limits_preview.py` compares both.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tenuto.model.slots import GLOBAL, PACES, tenant_key
from tenuto.store.parts.admission import TURN, turn_key
from tenuto.store.parts.limits import Limits
from tenuto.store.parts.slot_rows import Slot
from tenuto.store.parts.slots import Slots
from tenuto.workspace.limit_values import LimitChange, LimitsPreview, LimitState

MOST_EXAMINED = 10_000
"""The most waiting rows that a preview looks at."""
MOST_SHOWN = 1_000
"""The most limits that a preview shows."""
_PAGE = 1_000


class Situation(NamedTuple):
    """Who waits, and how many slots are taken."""

    lines: dict[str, deque[Slot]]
    """Rows that wait, by tenant, in their order."""
    counts: dict[str, int]
    is_complete: bool


async def situation(slots: Slots, tenant: str, *, sees_all: bool) -> Situation:
    """What is stored now; the counts are of limits that a principal of the tenant sees.

    `sees_all`: it sees the limits of all tenants.
    """
    lines: dict[str, deque[Slot]] = {}
    room = MOST_EXAMINED
    is_complete = True
    for name in await slots.waiting_tenants():
        line = lines[name] = deque()
        after: Slot | None = None
        while room > 0:
            page = await slots.waiting(name, after=after, limit=min(_PAGE, room))
            line.extend(each for each in page if each.state == "waiting" and not each.node)
            room -= len(page)
            if len(page) < _PAGE:
                break
            after = page[-1]
        is_complete = is_complete and room > 0
    keys = {key for line in lines.values() for each in line for key in each.keys}
    keys |= {turn_key(""), *map(turn_key, lines)}
    counts = await slots.counts(sorted(keys))
    counts |= await taken(slots, tenant, sees_all=sees_all)
    return Situation(lines, counts, is_complete)


async def taken(slots: Slots, tenant: str, *, sees_all: bool) -> dict[str, int]:
    """How many slots are taken of the limits that a principal of the tenant sees."""
    counts = await slots.counts([GLOBAL, tenant_key(tenant)])
    for prefix in (f"type:{tenant}/", f"user:{tenant}/", *(("tenant:",) if sees_all else ())):
        counts |= await slots.counts_below(prefix, MOST_SHOWN)
    return counts


def preview(
    found: Situation,
    before: Limits,
    after: Limits,
    *,
    shown: Iterable[str],
    of: str | None = None,
) -> LimitsPreview:
    """What becomes of the rows that wait once `after` holds instead of `before`.

    `shown` are the limits to tell of; those of which no slot is taken and for which none waits,
    and that do not change, are left out. `of`: the tenant whose instances are counted; None: all.
    """
    counts = Counter(found.counts)
    waited = _full(found.lines, counts, before)
    admitted: Counter[str] = Counter()
    number = 0
    left: dict[str, deque[Slot]] = {name: deque() for name in found.lines}
    lines = {name: deque(line) for name, line in found.lines.items() if line}
    while lines:
        name = min(lines, key=lambda each: _place(lines[each][0], counts, after))
        slot = lines[name].popleft()
        if not lines[name]:
            del lines[name]
        # What waits for its rate begins no sooner by another limit.
        is_paced = slot.blocked_on.startswith(PACES)
        if is_paced or any(_is_full(key, slot, counts, after) for key in slot.keys):
            left[name].append(slot)
            continue
        number += of in (None, name)
        admitted.update(slot.keys)
        if after.is_global and GLOBAL in slot.keys:
            turn = _turn(name, counts)
            counts[turn_key("")] = turn
            counts[turn_key(name)] = turn + TURN // after.weight(name)
        counts.update(slot.keys)
    waiting = _full(left, counts, after)
    changes = [
        LimitChange(
            limit=key,
            before=LimitState(
                held=found.counts.get(key, 0), max=before.of(key), waiting=waited[key]
            ),
            after=LimitState(held=counts[key], max=after.of(key), waiting=waiting[key]),
            admitted=admitted[key],
        )
        for key in shown
    ]
    telling = [each for each in changes if _tells(each)]
    telling.sort(key=lambda each: (each.before.max == each.after.max, each.limit))
    return LimitsPreview(
        admitted=number,
        waiting=sum(len(line) for name, line in left.items() if of in (None, name)),
        limits=telling[:MOST_SHOWN],
        is_complete=found.is_complete,
    )


def _tells(change: LimitChange) -> bool:
    """Whether a limit is one, and has slots, waiters or another number."""
    before, after = change.before, change.after
    if before.max is None and after.max is None:
        return False
    return bool(before.max != after.max or before.held or before.waiting or change.admitted)


def _place(slot: Slot, counts: Mapping[str, int], limits: Limits) -> tuple[object, ...]:
    turn = _turn(slot.tenant, counts) if limits.is_global else 0
    return (turn, slot.rank_class, slot.rank, slot.slot_key)


def _turn(tenant: str, counts: Mapping[str, int]) -> int:
    return max(counts.get(turn_key(tenant), 0), counts.get(turn_key(""), 0))


def _is_full(key: str, slot: Slot, counts: Mapping[str, int], limits: Limits) -> bool:
    most = slot.own_limit if key == slot.own_key else limits.of(key)
    return most is not None and counts.get(key, 0) >= most


def _full(
    lines: Mapping[str, Iterable[Slot]], counts: Mapping[str, int], limits: Limits
) -> Counter[str]:
    """For how many of those that wait each limit is full."""
    return Counter(
        key
        for line in lines.values()
        for slot in line
        for key in slot.keys
        if _is_full(key, slot, counts, limits)
    )
