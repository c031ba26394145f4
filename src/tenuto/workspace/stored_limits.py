"""The limits and the queue of one tenant: what needs a store alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from tenuto.model.checks import within
from tenuto.model.slots import ConcurrencyConfig
from tenuto.store.parts.slots import SERVICE, WOKEN, Limits as Arbiter, Slot
from tenuto.workspace.cursors import read_cursor, write_cursor
from tenuto.workspace.limit_values import FullLimit, QueuedInstance, SetLimits
from tenuto.workspace.source import Source
from tenuto.workspace.values import MOST_ITEMS, Page

_PLACES: tuple[Literal["woken", "promoted", "usual"], ...] = ("woken", "promoted", "usual")


class StoredLimits:
    """The limits that count instances of one tenant, and its queue."""

    def __init__(self, source: Source, tenant: str) -> None:
        self._source = source
        self._tenant = tenant

    async def get(self) -> SetLimits:
        """The limits of the service and of the tenant."""
        rows = {row.tenant: row for row in await self._source.store.slots.configs()}
        configs = {
            name: msgspec.json.decode(row.document, type=ConcurrencyConfig)
            for name, row in rows.items()
        }
        service = configs.get(SERVICE, ConcurrencyConfig())
        own = configs.get(self._tenant, ConcurrencyConfig())
        return SetLimits(
            version=sum(rows[name].version for name in (SERVICE, self._tenant) if name in rows),
            global_max_concurrent=service.global_max_concurrent,
            workflow_type_limits=dict(own.workflow_type_limits),
            tenant_limits=dict(service.tenant_limits),
            user_limits=dict(own.user_limits),
            queue=service.queue,
        )

    async def queue(
        self, *, workflow: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[QueuedInstance]:
        """A page of the instances that wait for slots, in their order."""
        within(limit, "limit", 1, MOST_ITEMS)
        place = read_cursor(cursor, tuple[int, Slot])
        first, after = (0, None) if place is None else place
        found = await self._source.store.slots.waiting(
            self._tenant, definition_id=workflow, after=after, limit=limit + 1
        )
        slots = [slot for slot in found[:limit] if not slot.node]
        items = await self._shown(slots, first)
        has_more = len(found) > limit
        last = (first + len(slots), found[limit - 1]) if has_more else None
        return Page(items=items, next_cursor=None if last is None else write_cursor(last))

    async def _shown(self, slots: Sequence[Slot], first: int) -> list[QueuedInstance]:
        store = self._source.store
        keys = sorted({key for slot in slots for key in slot.keys})
        counts = await store.slots.counts(keys) if keys else {}
        rows = await store.slots.configs()
        arbiter = Arbiter((row.tenant, row.document) for row in rows)
        return [
            QueuedInstance(
                instance_id=slot.instance_id,
                workflow_id=slot.definition_id,
                position=first + number,
                waiting_for=_full(slot, counts, arbiter),
                priority=slot.priority,
                deadline=slot.deadline,
                since=slot.asked_at,
                held=slot.state == "on-hold",
                place="woken" if slot.rank_class == WOKEN else _PLACES[slot.rank_class],
            )
            for number, slot in enumerate(slots, 1)
        ]


def _full(slot: Slot, counts: dict[str, int], arbiter: Arbiter) -> list[FullLimit]:
    found = []
    for key in slot.keys:
        most = slot.own_limit if key == slot.own_key else arbiter.of(key)
        held = counts.get(key, 0)
        if most is not None and held >= most:
            found.append(FullLimit(limit=key, held=held, max=most))
    return found
