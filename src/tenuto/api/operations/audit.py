"""Operations on the audit log: list, export, verify."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from tenuto.access.chain import read_noted, verify_chain
from tenuto.access.permissions import Permission
from tenuto.access.shown import plain
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Limit, Page
from tenuto.api.shapes import Answer, Moment, Query
from tenuto.model.json import JSON, Object
from tenuto.store.audit_chain import line_of
from tenuto.store.parts.audit import Audit, AuditQuery, AuditRow
from tenuto.workspace.cursors import Number, read_cursor, write_cursor
from tenuto.workspace.portions import in_portions, size_of_parts

AUDIT = Resource(f"{API}/audit", tag="audit", read=Permission.AUDIT_READ)
LINES = "application/x-ndjson"
_PAGE = 500


class AuditLogQuery(Query):
    """Which lines."""

    actor: str | None = None
    action: str | None = None
    """The name of an operation, such as `start_workflow`."""
    target: str | None = None
    """The path of the request."""
    since: Moment | None = None
    """At or after this time."""
    until: Moment | None = None
    """Before this time."""
    limit: Limit = 100
    cursor: str | None = None


class AuditLine(Answer):
    """A change that was asked for, its outcome, or a refusal."""

    number: int
    """1, 2, 3 in each tenant, without gaps."""
    id: str
    tenant: str
    at: str
    actor: str
    """A name, for people: several principals may have it."""
    kind: str
    credential: str | None
    """Identifies the actor: `key:<id>`, `<issuer>|<subject>`, or a name of this machine; null in
    lines of unauthenticated clients, and of older programs."""
    action: str
    target: str
    outcome: str
    """`asked` before the change begins; then `done` or `failed`, with the same `requestId`; a
    request without permission is `refused`."""
    source: str
    request_id: str
    before: JSON
    after: JSON
    previous_hash: str
    hash: str


class VerifyQuery(Query):
    """A line that was noted before, if any."""

    known: Annotated[str, Meta(max_length=100)] | None = None
    """The noted line: its number, a colon, its hash."""


class ChainProblem(Answer):
    """The line where the chain is broken."""

    code: str
    number: int
    message: str


class AuditVerdict(Answer):
    """How far the log was verified, and where its chain is broken, if it is."""

    tenant: str
    lines: int
    hash: str
    problem: ChainProblem | None


@AUDIT.get(response=Page[AuditLine])
async def list_audit(call: Call[AuditLogQuery]) -> Object:
    """List changes and refusals, newest first."""
    await call.service.audit.settled()
    asked = call.query
    below = read_cursor(asked.cursor, Number)
    query = AuditQuery(
        tenant=call.principal.tenant,
        actor=asked.actor,
        action=asked.action,
        target=asked.target,
        since=asked.since,
        until=asked.until,
        below=below,
    )

    async def read(count: int, before: Sequence[AuditRow]) -> Sequence[AuditRow]:
        place = before[-1].number if before else below
        return await _log(call).query(msgspec.structs.replace(query, below=place, limit=count))

    # One more than is shown tells whether there are more.
    rows, has_more = await in_portions(asked.limit + 1, read, _size)
    shown = rows[: asked.limit]
    has_more = len(rows) > len(shown) or (has_more and bool(rows))
    return {
        "items": [_line(row) for row in shown],
        "nextCursor": write_cursor(shown[-1].number) if has_more else None,
    }


def _size(row: AuditRow) -> int:
    return size_of_parts(row.entry.before, row.entry.after)


@AUDIT.get("/export", response=str, response_media=LINES)
async def export_audit(call: Call[NoQuery]) -> Response:
    """Export the whole log, oldest first, as lines of JSON with their hashes."""
    await call.service.audit.settled()
    log, tenant = _log(call), call.principal.tenant
    # The export ends here, though the log grows meanwhile.
    last = (await log.head(tenant)).number
    return StreamingResponse(_lines(log, tenant, last), media_type=LINES)


@AUDIT.get("/verify")
async def verify_audit(call: Call[VerifyQuery]) -> AuditVerdict:
    """Verify the hash chain of the log, and that a noted line is unchanged."""
    await call.service.audit.settled()
    known, tenant = call.query.known, call.principal.tenant
    noted = None if known is None else read_noted(known)
    head, fault = await verify_chain(_log(call), tenant, noted=noted)
    problem = None
    if fault is not None:
        problem = ChainProblem(code="TEN-5015", number=fault.number, message=fault.what)
    return AuditVerdict(tenant=tenant, lines=head.number, hash=head.hash.hex(), problem=problem)


async def _lines(log: Audit, tenant: str, last: int) -> AsyncIterator[str]:
    after = 0
    while after < last:
        rows = await log.lines(tenant, after=after, limit=min(_PAGE, last - after))
        if not rows:
            return
        after = rows[-1].number
        # A name must neither end the line nor send control characters to a terminal.
        yield "".join(plain(msgspec.json.encode(_line(row)).decode()) + "\n" for row in rows)


def _line(row: AuditRow) -> Object:
    return {
        **line_of(row.number, row.entry),
        "previousHash": row.previous_hash.hex(),
        "hash": row.hash.hex(),
    }


def _log(call: Call[AuditLogQuery] | Call[NoQuery] | Call[VerifyQuery]) -> Audit:
    return call.service.app.engine.store.seen_by(call.principal.tenant).audit
