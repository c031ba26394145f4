"""Figures about a database, for operators."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tenuto.model.durations import epoch_ms
from tenuto.store.columns import depths_of
from tenuto.store.erasing import ACTIVE
from tenuto.store.parts.upkeep import (
    COUNTED,
    STORED,
    WEIGHED,
    Depths,
    Place,
    RowSecurity,
    Stored,
    Upkeep,
    Weighed,
    Weight,
    weighing,
)
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.queries import Column
from tenuto.store.postgres.row_security import reader_of, row_security_of


class PostgresUpkeep(Upkeep):
    """Row-level security, depths, and figures of the pools."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def row_security(self) -> RowSecurity | None:
        async with self._database.connections.session() as session:
            return await row_security_of(session, await reader_of(session))

    async def depths(self, now: datetime) -> Depths:
        pool, guarded = self._database.connections, self._database.guarded
        # Read before this query takes a connection itself.
        pools = [pool] if guarded is None else [pool, guarded]
        size, in_use = sum(each.size for each in pools), sum(each.in_use for each in pools)
        asked = {"now": epoch_ms(now), "most": COUNTED, "statuses": list(ACTIVE)}
        [row] = await pool.rows("depths", asked)
        return depths_of(row, connections=size, connections_in_use=in_use)

    async def stored(self, what: Stored, tenant: str, most: int) -> int:
        asked: dict[str, Column] = {"tenant": tenant, "most": most}
        if what == "instances":
            asked["statuses"] = list(ACTIVE)
        [(found,)] = await self._database.connections.rows(STORED[what], asked)
        return int(found)

    async def weigh(
        self, what: Weighed, tenant: str, *, after: Place, until: datetime, limit: int
    ) -> Weight:
        asked = weighing(tenant, after, until, limit)
        [(size, last)] = await self._database.connections.rows(WEIGHED[what], asked)
        return Weight(size, Place(*msgspec.json.decode(last)) if last else None)

    async def tenants(self) -> list[str]:
        return [tenant for (tenant,) in await self._database.connections.rows("tenants")]
