"""What a store keeps of who has access, and of what they did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

AuditOutcome: TypeAlias = Literal["asked", "done", "failed", "refused"]
"""What is asked for is a line before it is done, and what came of it another. One that was asked
and has no other was cut off: it may have been done."""


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


class AuditEntry(Struct, frozen=True, gc=False, kw_only=True):
    """Something that somebody did, or was refused."""

    id: str
    """Of this entry, so that one that is sent twice is written once."""
    tenant: str
    at: datetime
    actor: str
    kind: str
    """How the actor is known."""
    action: str
    target: str
    outcome: AuditOutcome
    source: str = ""
    """The address that it came from."""
    request_id: str = ""
    before: bytes | None = None
    """JSON: what it was about, as it was; None where that is not kept."""
    after: bytes | None = None


class AuditHead(NamedTuple):
    """The last line of a tenant's chain."""

    number: int
    hash: bytes


NO_HEAD = AuditHead(0, b"")
"""Before the first line."""


class AuditRow(Struct, frozen=True, gc=False, kw_only=True):
    """A line of a tenant's audit log, chained to the one before it."""

    number: int
    """1, 2, 3 in each tenant, without gaps."""
    entry: AuditEntry
    previous_hash: bytes
    hash: bytes


class AuditQuery(Struct, frozen=True, gc=False, kw_only=True):
    """Which lines of a tenant's audit log, newest first."""

    tenant: str
    actor: str | None = None
    action: str | None = None
    target: str | None = None
    since: datetime | None = None
    """From then on."""
    until: datetime | None = None
    """Before then."""
    below: int | None = None
    """Lines with smaller numbers alone: the page after the one that ended with this."""
    limit: int = 100


class AccessStore(Protocol):
    """The verbs of a store about access. All may be used beside an engine, and are safe to repeat.

    StoreUnavailable where it is not known whether something was written.
    """

    async def put_key(self, key: KeyRow) -> bool:
        """Keep a new key; False where another has its id already."""

    async def key(self, id: str) -> KeyRow | None:
        """One key, of whatever tenant, also where it was revoked or has expired."""

    async def has_keys(self) -> bool:
        """Whether any tenant has ever had a key: they are never forgotten."""

    async def keys(self, tenant: str) -> list[KeyRow]:
        """The keys of a tenant, oldest first."""

    async def revoke_key(self, tenant: str, id: str, now: datetime) -> KeyRow | None:
        """The key, revoked; one that was before stays as it is. None where there is none."""

    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        """When keys were last used, by their ids; never earlier than is known."""

    async def append_audit(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        """Write lines at the ends of their tenants' chains, in their order, in one transaction.

        An entry whose id is there already is given back as it stands and not written again.
        Whoever appends to the same chain at the same time waits.
        """

    async def audit(self, query: AuditQuery) -> list[AuditRow]:
        """Lines of the log, newest first."""

    async def audit_lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        """The log from `after` on, ascending."""

    async def audit_head(self, tenant: str) -> AuditHead:
        """The end of a chain; `NO_HEAD` where nothing was written."""
