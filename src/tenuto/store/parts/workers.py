"""Workers: which have claimed tasks or sent heartbeats lately, and the tasks that they take."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from tenuto.model.durations import epoch_ms
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Script
from tenuto.store.cold.rows import columns_of
from tenuto.store.marks import for_tenants, writes

CONNECTED_FOR = timedelta(minutes=1)
"""A worker counts as connected for so long after it was seen."""
KEPT_FOR = timedelta(hours=1)
"""A worker is forgotten so long after it was seen last."""
MOST_WORKERS = 10_000
"""The most workers of a tenant that are kept; of more, those seen last."""

_MILLISECOND = timedelta(milliseconds=1)


class Sighting(Struct, frozen=True, gc=False, kw_only=True):
    """A worker was seen."""

    tenant: str
    worker_id: str
    age: int
    """Milliseconds since then."""
    is_claim: bool = True
    """Whether it claimed tasks; else it sent a heartbeat, and its tasks stay as they are."""
    task_ids: tuple[str, ...] | None = None
    """The tasks that it takes; None: any."""
    left_out: int = 0
    """How many more there are, which are not kept."""


class WorkerRow(Struct, frozen=True, gc=False, kw_only=True):
    """A worker, by the store's clock where it has one."""

    tenant: str
    worker_id: str
    task_ids: tuple[str, ...] | None
    """The tasks that it takes; None: any."""
    left_out: int
    """How many more there are, which are not kept."""
    first_seen: datetime
    """Since when it has been connected."""
    last_seen: datetime
    is_connected: bool
    """Whether it was seen within `CONNECTED_FOR`."""

    def may_take(self, task_id: str) -> bool:
        """Whether it takes a task, as far as is known."""
        return self.task_ids is None or task_id in self.task_ids or self.left_out > 0


class Workers(ColdPart):
    """Workers that were seen lately. All verbs are safe to repeat.

    The store's own clock counts if it has one, else `now`.
    """

    @writes
    async def saw(
        self, sightings: Sequence[Sighting], now: datetime, most: int = MOST_WORKERS
    ) -> None:
        """Record when workers were seen, and the tasks that they claim.

        A heartbeat of a worker that is not known changes nothing. Of a tenant's workers the `most`
        that were seen last are kept.
        """
        moment = {"now": epoch_ms(now), "connected_for": CONNECTED_FOR // _MILLISECOND}

        def script() -> Script[None]:
            grown: dict[str, None] = {}
            # In one order, so that two processes never wait for each other.
            for each in sorted(sightings, key=lambda seen: (seen.tenant, seen.worker_id)):
                name = "put_worker" if each.is_claim else "touch_worker"
                found = yield Ask(name, columns_of(each) | moment)
                if each.is_claim and found and found[0][0]:
                    grown[each.tenant] = None
            for tenant in grown:
                yield Ask("drop_oldest_workers", {"tenant": tenant, "most": most, "limit": 1_000})

        if sightings:
            await self._port.transaction(script)

    @for_tenants
    async def page(
        self,
        tenant: str,
        now: datetime,
        *,
        within: timedelta = KEPT_FOR,
        after: str = "",
        limit: int = 1_000,
    ) -> list[WorkerRow]:
        """Workers of a tenant that were seen within a time, with ids after `after`, by id."""
        which = {
            "tenant": tenant,
            "now": epoch_ms(now),
            "within": within // _MILLISECOND,
            "connected_for": CONNECTED_FOR // _MILLISECOND,
            "after": after,
            "limit": limit,
        }
        return await self._found(WorkerRow, "workers_seen", which)

    @writes
    async def forget(self, now: datetime, limit: int) -> int:
        """Delete at most `limit` workers that were last seen before `KEPT_FOR`; how many."""
        which = {"now": epoch_ms(now), "kept_for": KEPT_FOR // _MILLISECOND, "limit": limit}
        return len(await self._port.write("forget_workers", which))
