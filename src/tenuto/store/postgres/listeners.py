"""Listeners that events are delivered to."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.outbox_columns import (
    ListenerColumns,
    delivery_bounds,
    delivery_in,
    listener_columns,
    listener_of,
)
from tenuto.store.parts.listeners import (
    HASTENED,
    Backlog,
    Delivery,
    DeliveryPlace,
    Listener,
    ListenerKind,
    Listeners,
)
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.session import Transaction


class PostgresListeners(Listeners):
    """Listeners in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, listener: Listener) -> None:
        columns = listener_columns(listener)._asdict()
        await self._database.connections.rows("put_listener", columns)

    async def enable(self, listener: Listener) -> bool:
        columns = listener_columns(listener)._asdict()
        return bool(await self._database.connections.rows("enable_listener", columns))

    async def change(self, listener: Listener) -> bool:
        columns = listener_columns(listener)._asdict()
        return bool(await self._database.connections.rows("change_listener", columns))

    async def remove(self, tenant: str, kind: ListenerKind, id: str) -> bool:
        async def work(transaction: Transaction) -> bool:
            await transaction.rows("lock_listeners", {"ids": [id]})
            which = {"tenant": tenant, "kind": kind, "id": id}
            was_there = bool(await transaction.rows("delete_listener", which))
            if was_there:
                await transaction.rows("delete_postings_of", {"listener_id": id})
                await transaction.rows("forget_share_of", {"listener_id": id})
            return was_there

        return await self._database.connections.transaction(work)

    async def of(self, tenant: str | None) -> list[Listener]:
        pool = self._database.connections
        if tenant is None:
            found = await pool.rows("all_listeners")
        else:
            found = await pool.rows("listeners", {"tenant": tenant})
        return [listener_of(ListenerColumns._make(row)) for row in found]

    async def version(self) -> int:
        [(version,)] = await self._database.connections.rows("listening")
        return int(version)

    async def backlogs(self, tenant: str) -> dict[str, Backlog]:
        found = await self._database.connections.rows("backlogs", {"tenant": tenant})
        return {id: Backlog(count, from_epoch_ms(oldest)) for id, count, oldest in found}

    async def deliveries(
        self, tenant: str, id: str, *, after: DeliveryPlace | None = None, limit: int = 100
    ) -> list[Delivery]:
        which = delivery_bounds(tenant, id, after, limit)
        found = await self._database.connections.rows("postings_to", which)
        return [delivery_in(row) for row in found]

    async def hasten(self, tenant: str, id: str, now: datetime) -> int:
        which = {"tenant": tenant, "id": id, "now": epoch_ms(now), "most": HASTENED}
        count, last = 0, HASTENED
        while last == HASTENED:
            last = len(await self._database.connections.rows("hasten_postings", which))
            count += last
        return count
