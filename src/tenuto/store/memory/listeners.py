"""Listeners, over tables in memory."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import pack, unpack
from tenuto.store.memory.outbox import StoredPosting, drop_postings, listener_rows
from tenuto.store.outbox_columns import (
    ListenerColumns,
    delivery_in,
    listener_columns,
    listener_of,
)
from tenuto.store.parts.listeners import Backlog, Delivery, DeliveryPlace, Listener, ListenerKind


class MemoryListeners(MemoryPart):
    """Listeners by tenant, kind and id."""

    async def put(self, listener: Listener) -> None:
        self._context.require_open()
        self._put(listener_columns(listener))

    async def enable(self, listener: Listener) -> bool:
        self._context.require_open()
        columns = listener_columns(listener)
        before = self._get(columns)
        if before is None or before.level or before.hears_inbox:
            return False
        self._put(
            before._replace(
                level=columns.level, hears_inbox=columns.hears_inbox, health=columns.health
            )
        )
        return True

    async def change(self, listener: Listener) -> bool:
        self._context.require_open()
        columns = listener_columns(listener)
        before = self._get(columns)
        if before is None:
            return False
        changed = before._replace(patterns=columns.patterns, settings=columns.settings)
        if before.level or before.hears_inbox:
            changed = changed._replace(level=columns.level, hears_inbox=columns.hears_inbox)
        self._put(changed)
        return True

    async def remove(self, tenant: str, kind: ListenerKind, id: str) -> bool:
        self._context.require_open()
        disk = self._disk
        was_there = (tenant, kind, id) in disk.listeners
        if was_there:
            with disk.transaction():
                disk.drop(disk.listeners, (tenant, kind, id))
                drop_postings(disk, id)
                disk.listening += 1
        return was_there

    async def of(self, tenant: str | None) -> list[Listener]:
        found = [each for each in listener_rows(self._disk) if tenant in {None, each.tenant}]
        found.sort(key=lambda row: (row.created_at, row.id))
        return [listener_of(each) for each in found]

    async def version(self) -> int:
        return self._disk.listening

    async def backlogs(self, tenant: str) -> dict[str, Backlog]:
        disk = self._disk
        mine = {key[2] for key in disk.listeners if key[0] == tenant}
        found: dict[str, list[int]] = {}
        for row in disk.postings.values():
            posting = unpack(StoredPosting, row).posting
            if posting.listener_id in mine:
                found.setdefault(posting.listener_id, []).append(posting.created_at)
        return {id: Backlog(len(each), from_epoch_ms(min(each))) for id, each in found.items()}

    async def deliveries(
        self, tenant: str, id: str, *, after: DeliveryPlace | None = None, limit: int = 100
    ) -> list[Delivery]:
        found = [
            delivery_in((number, it.event_id, it.stream, it.created_at, it.attempts, due))
            for number, (it, due) in self._postings_to(tenant, id)
            if due is not None
        ]
        found.sort(key=lambda each: (each.due, each.number))
        return [each for each in found if after is None or (each.due, each.number) > after][:limit]

    async def hasten(self, tenant: str, id: str, now: datetime) -> int:
        self._context.require_open()
        moment, disk = epoch_ms(now), self._disk
        late = [
            (number, row)
            for number, row in self._postings_to(tenant, id)
            if row.due is not None and row.due > moment
        ]
        with disk.transaction():
            for number, row in late:
                disk.put(disk.postings, number, pack(row._replace(due=moment)))
        return len(late)

    def _postings_to(self, tenant: str, id: str) -> list[tuple[int, StoredPosting]]:
        disk = self._disk
        if not any(key[0] == tenant and key[2] == id for key in disk.listeners):
            return []
        rows = ((number, unpack(StoredPosting, row)) for number, row in disk.postings.items())
        return [(number, row) for number, row in rows if row.posting.listener_id == id]

    def _get(self, columns: ListenerColumns) -> ListenerColumns | None:
        stored = self._disk.listeners.get(columns[:3])
        return None if stored is None else unpack(ListenerColumns, stored)

    def _put(self, columns: ListenerColumns) -> None:
        disk = self._disk
        with disk.transaction():
            disk.put(disk.listeners, columns[:3], pack(columns))
            disk.listening += 1
