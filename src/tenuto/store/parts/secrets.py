"""Secrets of tenants: names, the destinations that they are for, and their sealed values."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.rows import columns_of
from tenuto.store.marks import for_tenants, writes


class SecretRow(Struct, frozen=True, gc=False, kw_only=True):
    """A secret. The store has its value only as it was sealed, and holds no key."""

    tenant: str
    name: str
    sealed: bytes
    """The value, encrypted; for this tenant and name alone."""
    destinations: tuple[str, ...] | None
    """Hosts and data sources that it may be sent to; None: it is for every step."""
    changed_at: datetime
    changed_by: str | None = None


class Secrets(ColdPart):
    """Secrets. All verbs are safe to repeat."""

    @writes
    async def put(self, row: SecretRow) -> None:
        """Store a secret, new or not: the last one that is written counts."""
        await self._port.write_beside("put_tenant_secret", columns_of(row))

    @for_tenants
    async def get(self, tenant: str, name: str) -> SecretRow | None:
        """A secret; None if there is none of this name."""
        which = {"tenant": tenant, "name": name}
        return await self._one(SecretRow, "tenant_secret", which)

    @for_tenants
    async def page(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[SecretRow]:
        """The secrets of a tenant with names after `after`, ordered by name."""
        which = {"tenant": tenant, "after": after, "limit": limit}
        return await self._found(SecretRow, "tenant_secrets", which)

    @for_tenants
    async def count(self, tenant: str, most: int) -> int:
        """How many secrets a tenant has, up to `most`."""
        which = {"tenant": tenant, "most": most}
        [(number,)] = await self._port.rows("count_tenant_secrets", which)
        return int(number)

    @writes
    async def remove(self, tenant: str, name: str) -> bool:
        """Delete a secret; False if there is none of this name."""
        which = {"tenant": tenant, "name": name}
        return bool(await self._port.write_beside("remove_tenant_secret", which))
