"""API keys and shared secrets, over tables in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.access_columns import KeyColumns, key_columns, key_row
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import pack, unpack
from tenuto.store.parts.access import KeyRow


class MemoryAccess(MemoryPart):
    """API keys by id, and secrets by name."""

    async def put_key(self, key: KeyRow) -> bool:
        self._context.require_open()
        disk = self._disk
        found = disk.access_keys.get(key.id)
        if found is not None:
            return unpack(KeyColumns, found).hash == key.hash
        maker = None if key.maker is None else await self.key(key.maker)
        if key.maker is not None and (maker is None or maker.revoked_at is not None):
            return False
        with disk.transaction():
            disk.put(disk.access_keys, key.id, pack(key_columns(key)))
        return True

    async def key(self, id: str) -> KeyRow | None:
        found = self._disk.access_keys.get(id)
        return None if found is None else key_row(unpack(KeyColumns, found))

    async def has_keys(self) -> bool:
        return bool(self._disk.access_keys)

    async def keys(self, tenant: str) -> list[KeyRow]:
        found = [unpack(KeyColumns, row) for row in self._disk.access_keys.values()]
        mine = [row for row in found if row.tenant == tenant]
        return [key_row(row) for row in sorted(mine, key=lambda row: (row.created_at, row.id))]

    async def revoke_key(self, tenant: str, id: str, now: datetime) -> list[KeyRow]:
        self._context.require_open()
        disk, mine = self._disk, await self.keys(tenant)
        wanted = [each for each in mine if each.id == id]
        for maker in wanted:
            wanted += [each for each in mine if each.maker == maker.id]
        revoked: list[KeyRow] = []
        with disk.transaction():
            for each in wanted:
                if each.revoked_at is None:
                    ended = key_columns(each)._replace(revoked_at=epoch_ms(now))
                    disk.put(disk.access_keys, each.id, pack(ended))
                    revoked.append(key_row(ended))
                elif each.id == id:
                    revoked.append(each)
        return revoked

    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        self._context.require_open()
        disk = self._disk
        with disk.transaction():
            for id, at in used.items():
                found = disk.access_keys.get(id)
                if found is not None:
                    columns = unpack(KeyColumns, found)
                    latest = max(columns.last_used_at or 0, epoch_ms(at))
                    disk.put(disk.access_keys, id, pack(columns._replace(last_used_at=latest)))

    async def keep_secret(self, name: str, proposed: bytes) -> bytes:
        self._context.require_open()
        return self._disk.secrets.setdefault(name, proposed)
