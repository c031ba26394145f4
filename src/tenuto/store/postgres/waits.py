"""Open waits and triggers."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.store.columns import WaitColumns, wait_row
from tenuto.store.looking import looked_for
from tenuto.store.parts.waits import WaitKey, WaitRow, Waits, WaitTerm
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.queries import Column


class PostgresWaits(Waits):
    """Open waits in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def terms(self, tenant: str, pattern: str) -> list[WaitTerm]:
        which = {"tenant": tenant, "pattern": pattern}
        found = await self._database.connections.rows("wait_terms", which)
        return [WaitTerm(*term) for term in found]

    async def matching(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int, after: WaitKey | None = None
    ) -> list[WaitRow]:
        pool = self._database.connections
        wanted = list(dict.fromkeys(terms))
        if not wanted:
            return []
        start = after or WaitKey("", "", "")
        page: dict[str, Column] = {
            "tenant": tenant,
            "patterns": [term.pattern for term in wanted],
            "term_paths": [term.term_paths for term in wanted],
            "term_values": [term.term_values for term in wanted],
            "after_instance": start.instance_id,
            "after_node": start.node,
            "after_iteration": start.iteration,
            "after_arm": start.arm,
            "limit": limit,
        }
        return _waits(await pool.rows("waits_for", page))

    async def near(self, tenant: str, terms: Sequence[WaitTerm], *, limit: int) -> list[WaitRow]:
        pool = self._database.connections
        wanted = list(dict.fromkeys((term.pattern, term.term_paths) for term in terms))
        if not wanted:
            return []
        near: dict[str, Column] = {
            "tenant": tenant,
            "patterns": [pattern for pattern, _ in wanted],
            "term_paths": [term_paths for _, term_paths in wanted],
            "limit": limit,
        }
        return _waits(await pool.rows("waits_near", near))

    async def of(self, instance_id: str) -> list[WaitRow]:
        which = {"instance_id": instance_id}
        look = self._database.connections.rows("waits_of_instance", which)
        return _waits(await looked_for(look, nothing=[]))

    async def unlooked(self, limit: int) -> list[WaitRow]:
        return _waits(await self._database.connections.rows("unlooked_waits", {"limit": limit}))


def _waits(rows: Sequence[Row]) -> list[WaitRow]:
    return [wait_row(WaitColumns._make(row)) for row in rows]
