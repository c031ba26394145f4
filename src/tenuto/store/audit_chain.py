"""The chain of an audit log: each line's hash covers the line and the hash before it.

A hash is SHA-256 over the previous hash and the line as JSON: keys in order, nothing between them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from tenuto.model.durations import iso
from tenuto.model.json import JSON, Object
from tenuto.store.parts.audit import AuditEntry, AuditHead, AuditRow

_encode = msgspec.json.Encoder(order="deterministic").encode


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


def line_hash(number: int, entry: AuditEntry, previous: bytes) -> bytes:
    line = line_of(number, entry)
    if entry.credential is None:
        # As before there was this field: the hashes of older lines stay what they are.
        del line["credential"]
    return hashlib.sha256(previous + _encode(line)).digest()


def line_of(number: int, entry: AuditEntry) -> Object:
    """A line as people and programs see it, but for its hashes."""
    return {
        "number": number,
        "id": entry.id,
        "tenant": entry.tenant,
        "at": iso(entry.at),
        "actor": entry.actor,
        "kind": entry.kind,
        "credential": entry.credential,
        "action": entry.action,
        "target": entry.target,
        "outcome": entry.outcome,
        "source": entry.source,
        "requestId": entry.request_id,
        "before": _value(entry.before),
        "after": _value(entry.after),
    }


def _value(text: bytes | None) -> JSON:
    if text is None:
        return None
    try:
        value: JSON = msgspec.json.decode(text)
    except ValueError:
        # The row was changed in the database: the line is shown, though not as it was written.
        return {"unreadable": text.hex()}
    return value
