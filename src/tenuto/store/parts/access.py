"""API keys, and secrets that all processes share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

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


class Access(Protocol):
    """API keys. All verbs may be used by processes without the store's lock.

    After StoreUnavailable it is unknown whether something was written.
    """

    @writes
    async def put_key(self, key: KeyRow) -> bool:
        """Store a new key; False if its id exists already, or the key that makes it is revoked."""

    async def key(self, id: str) -> KeyRow | None:
        """A key of any tenant, even if it is revoked or expired."""

    async def has_keys(self) -> bool:
        """Whether any tenant has ever had a key: keys are never deleted."""

    @for_tenants
    async def keys(self, tenant: str) -> list[KeyRow]:
        """The keys of a tenant, oldest first."""

    @writes
    async def revoke_key(self, tenant: str, id: str, now: datetime) -> list[KeyRow]:
        """Revoke a key with every key that was made by it, and by those; empty if there is none.

        Returns the key, then the others that this has revoked. A revoked key is not changed. A key
        that is being made by one of them is revoked too, or not made.
        """

    @writes
    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        """Record when keys were last used, by key id; never sets an earlier time than is stored."""

    @claims
    async def keep_secret(self, name: str, proposed: bytes) -> bytes:
        """The secret that all processes share under a name; stores `proposed` if there is none."""
