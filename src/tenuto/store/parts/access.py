"""API keys, and secrets that all processes share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct

from tenuto.model.durations import epoch_ms
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.rows import columns_of, records_of
from tenuto.store.looking import looked_for
from tenuto.store.marks import claims, for_tenants, writes


class KeyRow(Struct, frozen=True, gc=False, kw_only=True):
    """An API key, without its secret."""

    id: str
    tenant: str
    name: str
    role: str
    scopes: tuple[str, ...] | None
    """None: all scopes of the role."""
    hash: bytes
    """SHA-256 of its secret."""
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    """Accurate to the minute only."""

    def state(self, now: datetime) -> Literal["active", "expired", "revoked"]:
        """Whether the key is valid at a moment."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


class Access(ColdPart):
    """API keys. All verbs may be used by processes without the store's lock.

    After StoreUnavailable it is unknown whether something was written.
    """

    @writes
    async def put_key(self, key: KeyRow) -> bool:
        """Store a new key; False if its id exists already."""
        if await self._port.write_beside("insert_access_key", columns_of(key)):
            return True
        try:
            there = await self.key(key.id)
        except StoreUnavailable as error:
            raise may_be_written(f"not known to be written: {error.message}") from error
        # The same key, where the answer to the first attempt was lost.
        return there is not None and there.hash == key.hash

    async def key(self, id: str) -> KeyRow | None:
        """A key of any tenant, even if it is revoked or expired."""
        return await self._one(KeyRow, "access_key", {"id": id})

    async def has_keys(self) -> bool:
        """Whether any tenant has ever had a key: keys are never deleted."""
        return bool(await self._port.rows("any_access_key", {}))

    @for_tenants
    async def keys(self, tenant: str) -> list[KeyRow]:
        """The keys of a tenant, oldest first."""
        return await self._found(KeyRow, "access_keys", {"tenant": tenant})

    @writes
    async def revoke_key(self, tenant: str, id: str, now: datetime) -> KeyRow | None:
        """Revoke a key and return it; None if there is none. A revoked key is not changed."""
        which = {"tenant": tenant, "id": id, "now": epoch_ms(now)}
        found = await looked_for(self._port.write_beside("revoke_access_key", which), nothing=[])
        return records_of(KeyRow, found)[0] if found else None

    @writes
    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        """Record when keys were last used, by key id; never sets an earlier time than is stored."""
        # In one order, as other processes touch them too.
        ids = sorted(used)
        moments = [epoch_ms(used[id]) for id in ids]
        await self._port.write_beside("touch_access_keys", {"ids": ids, "at": moments})

    @claims
    async def keep_secret(self, name: str, proposed: bytes) -> bytes:
        """The secret that all processes share under a name; stores `proposed` if there is none."""
        await self._port.write("keep_secret", {"name": name, "value": proposed})
        [(value,)] = await self._port.rows("secret", {"name": name})
        return bytes(value)
