"""Saved definition versions, over tables in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from tenuto.model.durations import epoch_ms
from tenuto.store.columns import DefinitionColumns, definition_row, refuse_superseded
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import pack, unpack
from tenuto.store.memory.waits import put_waits
from tenuto.store.parts.definitions import DefinitionKey, DefinitionRow
from tenuto.store.parts.waits import WaitRow


class MemoryDefinitions(MemoryPart):
    """Definitions by tenant, id and version."""

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
        disk = self._disk
        newest = await self.get(tenant, id)
        refuse_superseded(newest, only_after)
        if newest is not None and newest.content_hash == content_hash:
            return newest
        version = 1 if newest is None else newest.version + 1
        columns = DefinitionColumns(tenant, id, version, content, content_hash, epoch_ms(now))
        with disk.transaction():
            disk.put(disk.definitions, (tenant, id, version), pack(columns))
            disk.put(disk.definition_versions, (tenant, id), version)
            disk.drop(disk.waits, ("", id, tenant))
            put_waits(disk, (replace(each, attempt=version) for each in triggers))
        return definition_row(columns)

    async def get(self, tenant: str, id: str, version: int | None = None) -> DefinitionRow | None:
        if version is None:
            version = self._disk.definition_versions.get((tenant, id), 0)
        row = self._disk.definitions.get((tenant, id, version))
        return None if row is None else definition_row(unpack(DefinitionColumns, row))

    async def ids(self, tenant: str) -> list[str]:
        rows = [await self.get(tenant, id) for id in self._ids(tenant)]
        return [row.id for row in rows if row is not None and not row.is_removed]

    async def newest(self, tenant: str, *, after: str = "", limit: int) -> list[DefinitionRow]:
        ids = [id for id in self._ids(tenant) if id > after and not "~test:" <= id < "~tesu"]
        rows = [await self.get(tenant, id) for id in ids[:limit]]
        return [row for row in rows if row is not None]

    def _ids(self, tenant: str) -> list[str]:
        return sorted(id for owner, id in self._disk.definition_versions if owner == tenant)

    async def erase(self, tenant: str, id: str) -> None:
        self._context.require_open()
        disk = self._disk
        with disk.transaction():
            disk.drop_where(disk.definitions, lambda key, _: key[:2] == (tenant, id))
            disk.drop(disk.definition_versions, (tenant, id))

    async def old_test_runs(self, before: datetime, limit: int) -> list[DefinitionKey]:
        rows = [unpack(DefinitionColumns, row) for row in self._disk.definitions.values()]
        end = epoch_ms(before)
        old = [row for row in rows if row.id.startswith("~test:") and row.created_at < end]
        old.sort(key=lambda row: row.created_at)
        return [DefinitionKey(row.tenant, row.id) for row in old[:limit]]
