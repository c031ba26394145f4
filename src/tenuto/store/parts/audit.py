"""The audit log: one chain of lines for each tenant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes

AuditOutcome: TypeAlias = Literal["asked", "done", "failed", "refused"]
"""What is asked for is a line before it is done, and what came of it another. One that was asked
and has no other was cut off: it may have been done."""


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


class Audit(Protocol):
    """The audit log. All verbs may be used beside an engine."""

    @writes
    async def append(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        """Write lines at the ends of their tenants' chains, in their order, in one transaction.

        An entry whose id is there already is given back as it stands and not written again.
        Whoever appends to the same chain at the same time waits.
        """

    @for_tenants
    async def query(self, query: AuditQuery) -> list[AuditRow]:
        """Lines of the log, newest first."""

    @for_tenants
    async def lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        """The log from `after` on, ascending."""

    @for_tenants
    async def head(self, tenant: str) -> AuditHead:
        """The end of a chain; `NO_HEAD` where nothing was written."""
