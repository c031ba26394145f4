"""The audit log: one chain of lines for each tenant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes

AuditOutcome: TypeAlias = Literal["asked", "done", "failed", "refused"]
"""An action is logged as "asked" before it is done, and with its outcome afterwards. An "asked"
line without an outcome means that the process was interrupted: the action may have been done."""


class AuditEntry(Struct, frozen=True, gc=False, kw_only=True):
    """An action of a principal, done or refused."""

    id: str
    """Identifies the entry, so that an entry sent twice is written once."""
    tenant: str
    at: datetime
    actor: str
    kind: str
    """How the actor was authenticated."""
    action: str
    target: str
    outcome: AuditOutcome
    source: str = ""
    """The address of the client."""
    request_id: str = ""
    credential: str | None = None
    """Identifies the actor's credential; None for nobody, and in lines of older programs."""
    before: bytes | None = None
    """JSON: the target before the action; None if it is not recorded."""
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
    """Inclusive."""
    until: datetime | None = None
    """Exclusive."""
    below: int | None = None
    """Only lines with smaller numbers: the last number of the previous page."""
    limit: int = 100


class Audit(Protocol):
    """The audit log. All verbs may be used by processes without the store's lock."""

    @writes
    async def append(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        """Append lines to the chains of their tenants, in order, in one transaction.

        An entry whose id exists already is not written again: the stored line is returned.
        Concurrent appends to the same chain wait for each other.
        """

    @for_tenants
    async def query(self, query: AuditQuery) -> list[AuditRow]:
        """Lines of the log, newest first."""

    @for_tenants
    async def lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        """The lines after number `after`, ascending."""

    @for_tenants
    async def head(self, tenant: str) -> AuditHead:
        """The last line of a chain; `NO_HEAD` if the chain is empty."""
