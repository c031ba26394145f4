"""API keys, and secrets that all processes share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

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


class Access(Protocol):
    """API keys. All verbs may be used by processes without the store's lock.

    After StoreUnavailable it is unknown whether something was written.
    """

    @writes
    async def put_key(self, key: KeyRow) -> bool:
        """Store a new key; False if its id exists already."""

    async def key(self, id: str) -> KeyRow | None:
        """A key of any tenant, even if it is revoked or expired."""

    async def has_keys(self) -> bool:
        """Whether any tenant has ever had a key: keys are never deleted."""

    @for_tenants
    async def keys(self, tenant: str) -> list[KeyRow]:
        """The keys of a tenant, oldest first."""

    @writes
    async def revoke_key(self, tenant: str, id: str, now: datetime) -> KeyRow | None:
        """Revoke a key and return it; None if there is none. A revoked key is not changed."""

    @writes
    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        """Record when keys were last used, by key id; never sets an earlier time than is stored."""

    @claims
    async def keep_secret(self, name: str, proposed: bytes) -> bytes:
        """The secret that all processes share under a name; stores `proposed` if there is none."""
