"""API keys, and secrets that all processes share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from tenuto.store.marks import claims, for_tenants, writes


class KeyRow(Struct, frozen=True, gc=False, kw_only=True):
    """An API key, without what only its holder knows."""

    id: str
    tenant: str
    name: str
    role: str
    scopes: tuple[str, ...] | None
    """None: all that the role may."""
    hash: bytes
    """SHA-256 of its secret."""
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    """About when: to the minute."""

    def state(self, now: datetime) -> Literal["active", "expired", "revoked"]:
        """Whether it opens anything at a moment."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


class Access(Protocol):
    """API keys. All verbs may be used beside an engine.

    StoreUnavailable where it is not known whether something was written.
    """

    @writes
    async def put_key(self, key: KeyRow) -> bool:
        """Keep a new key; False where another has its id already."""

    async def key(self, id: str) -> KeyRow | None:
        """One key, of whatever tenant, also where it was revoked or has expired."""

    async def has_keys(self) -> bool:
        """Whether any tenant has ever had a key: they are never forgotten."""

    @for_tenants
    async def keys(self, tenant: str) -> list[KeyRow]:
        """The keys of a tenant, oldest first."""

    @writes
    async def revoke_key(self, tenant: str, id: str, now: datetime) -> KeyRow | None:
        """The key, revoked; one that was before stays as it is. None where there is none."""

    @writes
    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        """When keys were last used, by their ids; never earlier than is known."""

    @claims
    async def keep_secret(self, name: str, proposed: bytes) -> bytes:
        """What is kept under a name for all processes: `proposed`, if nothing was before."""
