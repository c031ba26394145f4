"""API keys, and secrets that all processes share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct

from tenuto.model.durations import epoch_ms
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Parameters, Row, Script
from tenuto.store.cold.rows import columns_of, records_of
from tenuto.store.looking import looked_for
from tenuto.store.marks import claims, for_tenants, writes

KEY = "key:"
"""Stands before the id of a key where it is one of several kinds of principals."""


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
    """Identifies its maker: `key:<id>` for a key; a name where an older program made it."""
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    """Accurate to the minute only."""

    @property
    def identity(self) -> str:
        """Identifies the key among all principals: ids are never used again, names are."""
        return f"{KEY}{self.id}"

    @property
    def maker(self) -> str | None:
        """The id of the key that made it, if a key did."""
        return self.created_by.removeprefix(KEY) if self.created_by.startswith(KEY) else None

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
        """Store a new key; False if its id exists already, or the key that makes it is revoked."""
        if await self._port.transaction(lambda: _kept(key)):
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
    async def revoke_key(self, tenant: str, id: str, now: datetime) -> list[KeyRow]:
        """Revoke a key with every key that was made by it, and by those; empty if there is none.

        Returns the key, then the others that this has revoked. A revoked key is not changed. A key
        that is being made by one of them is revoked too, or not made.
        """
        which = {"tenant": tenant, "id": id, "now": epoch_ms(now)}
        revoking = self._port.transaction(lambda: _revoked(which))
        return records_of(KeyRow, await looked_for(revoking, nothing=[]))

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


def _kept(key: KeyRow) -> Script[bool]:
    if key.maker is not None and not (yield Ask("lock_maker", {"id": key.maker})):
        return False
    return bool((yield Ask("insert_access_key", columns_of(key))))


def _revoked(which: Parameters) -> Script[list[Row]]:
    """All or none: of a chain that was broken off, the keys below would stay valid."""
    found = made = yield Ask("revoke_access_key", which)
    while made:
        # A statement waits for keys that are being made, and only the next one sees them.
        made = yield Ask("revoke_made_keys", which)
        found = found + made
    return found
