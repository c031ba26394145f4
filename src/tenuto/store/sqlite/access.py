"""Keys and the audit log; statements of one connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.access_columns import (
    AuditColumns,
    KeyColumns,
    append,
    audit_filter,
    audit_row,
    key_columns,
    key_row,
)
from tenuto.store.access_protocol import (
    NO_HEAD,
    AuditEntry,
    AuditHead,
    AuditQuery,
    AuditRow,
    KeyRow,
)
from tenuto.store.sqlite.session import Column, Session, as_json


def put_key(session: Session, new: KeyRow) -> bool:
    if session.rows("insert_access_key", key_columns(new)):
        return True
    there = key(session, new.id)
    return there is not None and there.hash == new.hash


def key(session: Session, id: str) -> KeyRow | None:
    found = session.rows("access_key", (id,))
    return key_row(KeyColumns._make(found[0])) if found else None


def has_keys(session: Session) -> bool:
    return bool(session.rows("any_access_key"))


def keys(session: Session, tenant: str) -> list[KeyRow]:
    return [key_row(KeyColumns._make(row)) for row in session.rows("access_keys", (tenant,))]


def revoke_key(session: Session, tenant: str, id: str, now: datetime) -> KeyRow | None:
    which: dict[str, Column] = {"tenant": tenant, "id": id, "now": epoch_ms(now)}
    found = session.rows("revoke_access_key", which)
    return key_row(KeyColumns._make(found[0])) if found else None


def touch_keys(session: Session, used: Mapping[str, datetime]) -> None:
    session.run("touch_access_keys", (as_json([(id, epoch_ms(at)) for id, at in used.items()]),))


def append_audit(session: Session, entries: Sequence[AuditEntry]) -> list[AuditRow]:
    heads = {tenant: audit_head(session, tenant) for tenant in {each.tenant for each in entries}}
    ids = as_json([(entry.tenant, entry.id) for entry in entries])
    there = [audit_row(AuditColumns._make(row)) for row in session.rows("audit_by_id", (ids,))]
    made = append(entries, heads, there)
    session.insert("insert_audit", made.rows)
    for tenant, head in made.heads.items():
        if head != heads[tenant]:
            session.run("put_audit_head", (tenant, *head))
    return made.answer


def audit(session: Session, query: AuditQuery) -> list[AuditRow]:
    found = session.rows("audit", audit_filter(query))
    return [audit_row(AuditColumns._make(row)) for row in found]


def audit_lines(session: Session, tenant: str, after: int, limit: int) -> list[AuditRow]:
    found = session.rows("audit_lines", (tenant, after, limit))
    return [audit_row(AuditColumns._make(row)) for row in found]


def audit_head(session: Session, tenant: str) -> AuditHead:
    found = session.rows("audit_head", (tenant,))
    return AuditHead(*found[0]) if found else NO_HEAD
