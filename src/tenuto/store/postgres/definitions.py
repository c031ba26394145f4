"""Definitions, which several processes may save at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.columns import (
    DefinitionColumns,
    definition_row,
    refuse_superseded,
    wait_columns,
)
from tenuto.store.looking import looked_for
from tenuto.store.parts.definitions import DefinitionKey, DefinitionRow, Definitions
from tenuto.store.parts.waits import WaitRow
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.queries import Column

_OF_TRIGGERS = (
    "pattern",
    "is_wildcard",
    "condition",
    "captures",
    "term_paths",
    "term_values",
    "since",
    "opened_at",
    "arm",
    "position",
)


class PostgresDefinitions(Definitions):
    """Definitions in a table, their triggers among the waits."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(
        self,
        tenant: str,
        id: str,
        content: bytes,
        content_hash: bytes,
        now: datetime,
        *,
        triggers: Sequence[WaitRow] = (),
        only_after: int | None = None,
    ) -> DefinitionRow:
        self._database.require_writer()
        rows = [wait_columns(each, 0) for each in triggers]
        arrays = {name: [getattr(row, name) for row in rows] for name in _OF_TRIGGERS}
        while True:
            newest = await _definition(self._database.connections, tenant, id, None)
            refuse_superseded(newest, only_after)
            if newest is not None and newest.content_hash == content_hash:
                return newest
            version = 1 if newest is None else newest.version + 1
            columns = DefinitionColumns(tenant, id, version, content, content_hash, epoch_ms(now))
            saved = columns._asdict() | arrays
            if await self._database.connections.rows("insert_definition", saved):
                return definition_row(columns)
            # Something else has this number; or it is this, and the answer got lost: then it is not
            # saved once more, whatever was saved after it.
            there = await _definition(self._database.connections, tenant, id, version)
            if there is not None and there.content_hash == content_hash:
                return there

    async def get(self, tenant: str, id: str, version: int | None = None) -> DefinitionRow | None:
        look = _definition(self._database.connections, tenant, id, version)
        return await looked_for(look, nothing=None)

    async def ids(self, tenant: str) -> list[str]:
        found = await self._database.connections.rows("definition_ids", {"tenant": tenant})
        return [id for (id,) in found]

    async def newest(self, tenant: str, *, after: str = "", limit: int) -> list[DefinitionRow]:
        page: dict[str, Column] = {"tenant": tenant, "after": after, "limit": limit}
        found = await self._database.connections.rows("newest_definitions", page)
        return [definition_row(DefinitionColumns._make(row)) for row in found]

    async def erase(self, tenant: str, id: str) -> None:
        self._database.require_writer()
        await self._database.pool.rows("erase_definition", {"tenant": tenant, "id": id})

    async def old_test_runs(self, before: datetime, limit: int) -> list[DefinitionKey]:
        page = {"before": epoch_ms(before), "limit": limit}
        look = self._database.connections.rows("old_rehearsals", page)
        return [DefinitionKey(*row) for row in await looked_for(look, nothing=[])]


async def _definition(
    pool: Pool, tenant: str, id: str, version: int | None
) -> DefinitionRow | None:
    name = "newest_definition" if version is None else "definition"
    found = await pool.rows(name, {"tenant": tenant, "id": id, "version": version})
    return definition_row(DefinitionColumns._make(found[0])) if found else None
