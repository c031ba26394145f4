"""The audit log: one chain of lines for each tenant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from tenuto.model.durations import epoch_ms
from tenuto.store.audit_chain import line_hash
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Insert, Parameters, Row, Script, Value
from tenuto.store.cold.rows import columns_of, records_of
from tenuto.store.looking import looked_for
from tenuto.store.marks import for_tenants, writes

_FARTHEST = (1 << 63) - 1

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
    """Identifies the actor's credential; None without one, and in lines of older programs."""
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


class Audit(ColdPart):
    """The audit log: lines in one table, the end of each chain in another.

    All verbs may be used by processes without the store's lock.
    """

    @writes
    async def append(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        """Append lines to the chains of their tenants, in order; all of a chain, or none.

        An entry whose id exists already is not written again: the stored line is returned.
        Concurrent appends to the same chain wait for each other.
        """
        return await self._port.transaction(lambda: _append(entries))

    @for_tenants
    async def query(self, query: AuditQuery) -> list[AuditRow]:
        """Lines of the log, newest first."""
        return await self._lines("audit", _filter(query))

    @for_tenants
    async def lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        """The lines after number `after`, ascending."""
        which = {"tenant": tenant, "after": after, "limit": limit}
        return await self._lines("audit_lines", which)

    @for_tenants
    async def head(self, tenant: str) -> AuditHead:
        """The last line of a chain; `NO_HEAD` if the chain is empty."""
        found = await self._port.rows("audit_head", {"tenant": tenant})
        return AuditHead(*found[0]) if found else NO_HEAD

    async def _lines(self, name: str, which: Parameters) -> list[AuditRow]:
        return _rows(await looked_for(self._port.rows(name, which), nothing=[]))


def chained(head: AuditHead, entries: Iterable[AuditEntry]) -> list[AuditRow]:
    """The entries as the lines that follow `head`."""
    rows: list[AuditRow] = []
    for entry in entries:
        number = head.number + 1
        row = AuditRow(
            number=number,
            entry=entry,
            previous_hash=head.hash,
            hash=line_hash(number, entry, head.hash),
        )
        head = AuditHead(number, row.hash)
        rows.append(row)
    return rows


def _append(entries: Sequence[AuditEntry]) -> Script[list[AuditRow]]:
    heads = yield from _locked(sorted({entry.tenant for entry in entries}))
    which = {"tenants": [entry.tenant for entry in entries], "ids": [entry.id for entry in entries]}
    known = {
        (row.entry.tenant, row.entry.id): row for row in _rows((yield Ask("audit_by_id", which)))
    }
    new: list[AuditRow] = []
    for entry in entries:
        if (entry.tenant, entry.id) not in known:
            [row] = chained(heads[entry.tenant], [entry])
            known[entry.tenant, entry.id] = row
            heads[entry.tenant] = AuditHead(row.number, row.hash)
            new.append(row)
    if new:
        columns = [line_columns(row) for row in new]
        # The statement moves the ends of their chains, too.
        yield Insert("insert_audit", tuple(columns[0]), [tuple(each.values()) for each in columns])
    return [known[entry.tenant, entry.id] for entry in entries]


def _locked(tenants: list[str]) -> Script[dict[str, AuditHead]]:
    """Where the chains end; no other process extends them before the transaction is over."""
    found = yield Ask("lock_audit_heads", {"tenants": tenants})
    if len(found) < len(tenants):
        yield Ask("begin_audit", {"tenants": tenants})
        found = yield Ask("lock_audit_heads", {"tenants": tenants})
    return {tenant: AuditHead(*end) for tenant, *end in found}


def line_columns(row: AuditRow) -> dict[str, Value]:
    """The columns of a line, by their names."""
    chain = {"number": row.number, "previous_hash": row.previous_hash, "hash": row.hash}
    return chain | columns_of(row.entry)


def _rows(rows: Sequence[Row]) -> list[AuditRow]:
    return [
        AuditRow(number=row[0], previous_hash=row[1], hash=row[2], entry=entry)
        for row, entry in zip(rows, records_of(AuditEntry, (row[3:] for row in rows)), strict=True)
    ]


def _filter(query: AuditQuery) -> Parameters:
    """The parameters of the statement that reads lines."""
    ends = {
        "since": -_FARTHEST if query.since is None else epoch_ms(query.since),
        "until": _FARTHEST if query.until is None else epoch_ms(query.until),
        "below": _FARTHEST if query.below is None else query.below,
    }
    return columns_of(query) | ends
