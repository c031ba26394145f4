"""The audit log of one tenant, read from its store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

import msgspec

from tenuto.access.chain import read_noted, verify_chain
from tenuto.access.shown import plain
from tenuto.model.checks import aware, within
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import Object
from tenuto.store.audit_chain import line_of
from tenuto.store.parts.audit import Audit as AuditPart, AuditQuery, AuditRow
from tenuto.workspace.values import MOST_ITEMS, Page

BROKEN = "TEN-5015"
"""The code of a log that is not as it was written."""
_PAGE = 500


class TenantAudit:
    """The audit log of one tenant."""

    __slots__ = ("_store", "_tenant")

    def __init__(self, store: AuditPart, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    async def page(
        self,
        *,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """Lines, newest first; a cursor is the number of the last line of the page before."""
        within(limit, "limit", 1, MOST_ITEMS)
        query = AuditQuery(
            tenant=self._tenant,
            actor=actor,
            action=action,
            target=target,
            since=aware(since, "since"),
            until=aware(until, "until"),
            below=_number(cursor),
            limit=limit + 1,
        )
        rows = await self._store.query(query)
        shown = rows[:limit]
        is_last = len(rows) <= limit
        return Page(
            items=[audit_view(row) for row in shown],
            next_cursor=None if is_last else str(shown[-1].number),
        )

    async def export(self) -> AsyncIterator[str]:
        """Every line, oldest first: JSON, with its hash."""
        # Lines that are written from now on are in the next export: this one ends.
        last, after = (await self._store.head(self._tenant)).number, 0
        while after < last:
            limit = min(_PAGE, last - after)
            rows = await self._store.lines(self._tenant, after=after, limit=limit)
            if not rows:
                return
            after = rows[-1].number
            for row in rows:
                # A name must not end the line, nor colour the terminal that it is shown in.
                yield plain(msgspec.json.encode(audit_view(row)).decode())

    async def verify(self, known: str | None = None) -> Object:
        """Read the chain of hashes: `{tenant, lines, hash, problem}`.

        `known` is a line that the caller noted earlier, as `<number>:<hash>`.
        """
        noted = None if known is None else read_noted(known)
        head, fault = await verify_chain(self._store, self._tenant, noted=noted)
        problem: Object | None = None
        if fault is not None:
            problem = {"code": BROKEN, "number": fault.number, "message": fault.what}
        return {
            "tenant": self._tenant,
            "lines": head.number,
            "hash": head.hash.hex(),
            "problem": problem,
        }


def audit_view(row: AuditRow) -> Object:
    """A line of the audit log in JSON."""
    return {
        **line_of(row.number, row.entry),
        "previousHash": row.previous_hash.hex(),
        "hash": row.hash.hex(),
    }


def _number(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if cursor.isascii() and cursor.isdecimal():
        return int(cursor)
    problem = Problem(
        code="TEN-2402",
        path="$.cursor",
        message=f"{cursor} is not the number of a line",
        advice="Take what the list before said; a server's cursors are its own.",
    )
    raise InvalidInput("the lines cannot be listed", [problem])
