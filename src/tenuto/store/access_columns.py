"""Keys and lines of the audit log, as rows; the same for every store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

import msgspec

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.audit_chain import chained
from tenuto.store.columns import from_ms, to_ms
from tenuto.store.parts.access import KeyRow
from tenuto.store.parts.audit import (
    NO_HEAD,
    AuditEntry,
    AuditHead,
    AuditOutcome,
    AuditQuery,
    AuditRow,
)

_decode_scopes = msgspec.json.Decoder(tuple[str, ...]).decode
_FARTHEST = (1 << 63) - 1


class KeyColumns(NamedTuple):
    """A row of access_keys."""

    id: str
    tenant: str
    name: str
    role: str
    scopes: str | None
    hash: bytes
    created_at: int
    created_by: str
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


class AuditColumns(NamedTuple):
    """A row of audit_log."""

    tenant: str
    number: int
    id: str
    at: int
    actor: str
    kind: str
    action: str
    target: str
    outcome: str
    source: str
    request_id: str
    credential: str | None
    before: bytes | None
    after: bytes | None
    previous_hash: bytes
    hash: bytes


class Append(NamedTuple):
    """The effect of an append: rows to write, the new ends of the chains, and the answer."""

    rows: list[AuditColumns]
    heads: dict[str, AuditHead]
    answer: list[AuditRow]


def key_columns(key: KeyRow) -> KeyColumns:
    return KeyColumns(
        key.id,
        key.tenant,
        key.name,
        key.role,
        None if key.scopes is None else msgspec.json.encode(key.scopes).decode(),
        key.hash,
        epoch_ms(key.created_at),
        key.created_by,
        to_ms(key.expires_at),
        to_ms(key.revoked_at),
        to_ms(key.last_used_at),
    )


def key_row(columns: KeyColumns) -> KeyRow:
    return KeyRow(
        id=columns.id,
        tenant=columns.tenant,
        name=columns.name,
        role=columns.role,
        scopes=None if columns.scopes is None else _decode_scopes(columns.scopes),
        hash=columns.hash,
        created_at=from_epoch_ms(columns.created_at),
        created_by=columns.created_by,
        expires_at=from_ms(columns.expires_at),
        revoked_at=from_ms(columns.revoked_at),
        last_used_at=from_ms(columns.last_used_at),
    )


def audit_columns(row: AuditRow) -> AuditColumns:
    entry = row.entry
    return AuditColumns(
        entry.tenant,
        row.number,
        entry.id,
        epoch_ms(entry.at),
        entry.actor,
        entry.kind,
        entry.action,
        entry.target,
        entry.outcome,
        entry.source,
        entry.request_id,
        entry.credential,
        entry.before,
        entry.after,
        row.previous_hash,
        row.hash,
    )


def audit_row(columns: AuditColumns) -> AuditRow:
    return AuditRow(
        number=columns.number,
        entry=AuditEntry(
            id=columns.id,
            tenant=columns.tenant,
            at=from_epoch_ms(columns.at),
            actor=columns.actor,
            kind=columns.kind,
            action=columns.action,
            target=columns.target,
            outcome=cast("AuditOutcome", columns.outcome),
            source=columns.source,
            request_id=columns.request_id,
            credential=columns.credential,
            before=columns.before,
            after=columns.after,
        ),
        previous_hash=columns.previous_hash,
        hash=columns.hash,
    )


def append(
    entries: Sequence[AuditEntry], heads: Mapping[str, AuditHead], there: Iterable[AuditRow]
) -> Append:
    """How entries go on chains that end with `heads`, where `there` were written before."""
    known = {(row.entry.tenant, row.entry.id): row for row in there}
    ends = dict(heads)
    rows: list[AuditColumns] = []
    answer: list[AuditRow] = []
    for entry in entries:
        key = (entry.tenant, entry.id)
        if key not in known:
            [row] = chained(ends.get(entry.tenant, NO_HEAD), [entry])
            known[key] = row
            ends[entry.tenant] = AuditHead(row.number, row.hash)
            rows.append(audit_columns(row))
        answer.append(known[key])
    return Append(rows, ends, answer)


def audit_filter(query: AuditQuery) -> dict[str, str | int | None]:
    """The parameters of the statement that reads lines."""
    return {
        "tenant": query.tenant,
        "actor": query.actor,
        "action": query.action,
        "target": query.target,
        "since": -_FARTHEST if query.since is None else epoch_ms(query.since),
        "until": _FARTHEST if query.until is None else epoch_ms(query.until),
        "below": _FARTHEST if query.below is None else query.below,
        "limit": query.limit,
    }
