"""API keys, and secrets that all processes share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.access_columns import KeyColumns, key_columns, key_row
from tenuto.store.cold.port import Ask, Row, RowPort, Script
from tenuto.store.looking import looked_for
from tenuto.store.parts.access import KeyRow


class AccessRecords:
    """API keys in a table."""

    def __init__(self, port: RowPort) -> None:
        self._port = port

    async def put_key(self, key: KeyRow) -> bool:
        if await self._port.transaction(lambda: _kept(key)):
            return True
        try:
            there = await self.key(key.id)
        except StoreUnavailable as error:
            raise may_be_written(f"not known to be written: {error.message}") from error
        # The same key, where the answer to the first attempt was lost.
        return there is not None and there.hash == key.hash

    async def key(self, id: str) -> KeyRow | None:
        found = await looked_for(self._port.rows("access_key", {"id": id}), nothing=[])
        return _key(found[0]) if found else None

    async def has_keys(self) -> bool:
        return bool(await self._port.rows("any_access_key", {}))

    async def keys(self, tenant: str) -> list[KeyRow]:
        found = self._port.rows("access_keys", {"tenant": tenant})
        return [_key(row) for row in await looked_for(found, nothing=[])]

    async def revoke_key(self, tenant: str, id: str, now: datetime) -> list[KeyRow]:
        which = {"tenant": tenant, "id": id, "now": epoch_ms(now)}
        found = await looked_for(self._port.write_beside("revoke_access_key", which), nothing=[])
        made = found
        while made:
            # A statement waits for keys that are being made, and only the next one sees them.
            made = await self._port.write_beside("revoke_made_keys", which)
            found = found + made
        return [_key(row) for row in found]

    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        # In one order, as other processes touch them too.
        ids = sorted(used)
        moments = [epoch_ms(used[id]) for id in ids]
        await self._port.write_beside("touch_access_keys", {"ids": ids, "at": moments})

    async def keep_secret(self, name: str, proposed: bytes) -> bytes:
        await self._port.write("keep_secret", {"name": name, "value": proposed})
        [(value,)] = await self._port.rows("secret", {"name": name})
        return bytes(value)


def _kept(key: KeyRow) -> Script[bool]:
    if key.maker is not None and not (yield Ask("lock_maker", {"id": key.maker})):
        return False
    return bool((yield Ask("insert_access_key", key_columns(key)._asdict())))


def _key(row: Row) -> KeyRow:
    return key_row(KeyColumns._make(row))
