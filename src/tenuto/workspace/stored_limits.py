"""The limits and the queue of one tenant: what needs a store alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec

from tenuto.model.checks import within
from tenuto.model.durations import epoch_ms
from tenuto.model.load import LoadReport
from tenuto.model.slots import ConcurrencyConfig
from tenuto.store.parts.limits import Limits as Arbiter
from tenuto.store.parts.slot_rows import (
    SERVICE,
    WOKEN,
    ConcurrencyRow,
    QueuePlace,
    QueueRuleRow,
    Slot,
)
from tenuto.workspace.cursors import read_cursor, write_cursor
from tenuto.workspace.effective_limit import effective_limit
from tenuto.workspace.limit_uses import limit_uses
from tenuto.workspace.limit_values import (
    FullLimit,
    LimitUses,
    QueuedInstance,
    SavedQueueRule,
    SetLimits,
)
from tenuto.workspace.paces import paced, paces_of, until
from tenuto.workspace.source import Source
from tenuto.workspace.values import MOST_ITEMS, Page

_PLACES: tuple[Literal["woken", "promoted", "usual"], ...] = ("woken", "promoted", "usual")


class StoredConfigs:
    """The limits of the service and of all tenants, as one reading found them."""

    def __init__(
        self, rows: Iterable[ConcurrencyRow], tenant: str, reports: Sequence[LoadReport] = ()
    ) -> None:
        """`reports`: what processes ask for, the lowest first."""
        self._tenant = tenant
        self.reports = reports
        self._versions: dict[str, int] = {}
        self._configs: dict[str, ConcurrencyConfig] = {}
        for row in rows:
            self._versions[row.tenant] = row.version
            self._configs[row.tenant] = msgspec.json.decode(row.document, type=ConcurrencyConfig)

    @property
    def version(self) -> int:
        """Rises with each change of what the tenant sees."""
        return self.version_of(SERVICE) + self.version_of(self._tenant)

    def version_of(self, name: str) -> int:
        return self._versions.get(name, 0)

    def config(self, name: str) -> ConcurrencyConfig:
        return self._configs.get(name, ConcurrencyConfig())

    def arbiter(self, instead: Mapping[str, ConcurrencyConfig] = MappingProxyType({})) -> Arbiter:
        """The limits by key, some replaced."""
        made = Arbiter.of_configs({**self._configs, **instead})
        made.adapt(self.reports[0].asked if self.reports else None)
        return made

    def with_(self, instead: Mapping[str, ConcurrencyConfig]) -> StoredConfigs:
        """The same with some replaced."""
        changed = StoredConfigs((), self._tenant, self.reports)
        changed._versions = self._versions
        changed._configs = {**self._configs, **instead}
        return changed


def set_limits(stored: StoredConfigs, tenant: str) -> SetLimits:
    """What a tenant sees."""
    service, own = stored.config(SERVICE), stored.config(tenant)
    return SetLimits(
        version=stored.version,
        global_max_concurrent=service.global_max_concurrent,
        workflow_type_limits=dict(own.workflow_type_limits),
        tenant_limits=dict(service.tenant_limits),
        user_limits=dict(own.user_limits),
        resource_based_limits=service.resource_based_limits,
        queue=service.queue,
        effective=effective_limit(service, stored.reports),
    )


class StoredLimits:
    """The limits that count instances of one tenant, and its queue."""

    def __init__(self, source: Source, tenant: str) -> None:
        self._source = source
        self._tenant = tenant

    async def get(self) -> SetLimits:
        """The limits of the service and of the tenant."""
        return set_limits(await self._stored(), self._tenant)

    async def _stored(self) -> StoredConfigs:
        store = self._source.store
        found = StoredConfigs(await store.slots.configs(), self._tenant)
        if found.config(SERVICE).is_adaptive:
            found.reports = await store.load_reports.living(self._source.clock.now())
        return found

    async def queue(
        self, *, workflow: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[QueuedInstance]:
        """A page of the instances that wait for slots, in their order."""
        within(limit, "limit", 1, MOST_ITEMS)
        place = read_cursor(cursor, tuple[int | None, QueuePlace])
        first, after = (0, None) if place is None else place
        waiting = self._source.store.slots
        found = await waiting.waiting_instances(
            self._tenant, definition_id=workflow, after=after, limit=limit + 1
        )
        slots = found[:limit]
        if workflow is None:
            numbers = {slot.instance_id: number for number, slot in enumerate(slots, 1)}
        else:
            numbers = await waiting.numbers(self._tenant, workflow, after=after, limit=limit)
        items = await self._shown(slots, _positions(first, numbers))
        last = (items[-1].position, slots[-1].queue_place) if len(found) > limit else None
        return Page(items=items, next_cursor=None if last is None else write_cursor(last))

    async def uses(self) -> LimitUses:
        """How full the limits are, how many wait for each, and some that hold its slots."""
        limits = (await self._stored()).arbiter()
        now = epoch_ms(self._source.clock.now())
        return await limit_uses(self._source.store.slots, limits, self._tenant, now)

    async def rules(self) -> list[SavedQueueRule]:
        """The rules of the queue, oldest first."""
        return [shown_rule(row) for row in await self._source.store.slots.queue_rules(self._tenant)]

    async def _shown(
        self, slots: Sequence[Slot], positions: Mapping[str, int]
    ) -> list[QueuedInstance]:
        store = self._source.store
        keys = sorted({key for slot in slots for key in slot.keys})
        counts = await store.slots.counts(keys) if keys else {}
        arbiter = (await self._stored()).arbiter()
        now = epoch_ms(self._source.clock.now())
        paces = await paces_of(store.slots, slots)
        return [
            QueuedInstance(
                instance_id=slot.instance_id,
                workflow_id=slot.definition_id,
                position=positions.get(slot.instance_id),
                waiting_for=_full(slot, counts, arbiter) + paced(slot, paces, now),
                priority=slot.priority,
                deadline=slot.deadline,
                since=slot.asked_at,
                held=slot.state == "on-hold",
                until=until(slot, paces),
                place="woken" if slot.rank_class == WOKEN else _PLACES[slot.rank_class],
            )
            for slot in slots
        ]


def _positions(first: int | None, numbers: Mapping[str, int]) -> dict[str, int]:
    """Places in the whole queue of instances with these numbers behind one; `first`: its place."""
    return {} if first is None else {id: first + number for id, number in numbers.items()}


def shown_rule(row: QueueRuleRow) -> SavedQueueRule:
    """A rule as users see it."""
    return SavedQueueRule(
        id=row.id,
        when=row.expression,
        priority=row.priority,
        hold=row.is_hold,
        note=row.note,
        created_at=row.created_at,
        created_by=row.created_by,
    )


def _full(slot: Slot, counts: dict[str, int], arbiter: Arbiter) -> list[FullLimit]:
    found = []
    for key in slot.keys:
        most = slot.own_limit if key == slot.own_key else arbiter.of(key)
        held = counts.get(key, 0)
        if most is not None and held >= most:
            found.append(FullLimit(limit=key, held=held, max=most))
    return found
