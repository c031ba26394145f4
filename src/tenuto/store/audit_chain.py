"""The chain of an audit log: each line's hash covers the line and the hash before it.

A hash is SHA-256 over the previous hash and the line as JSON: keys in order, nothing between them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
from whenever import Instant

from tenuto.model.durations import iso
from tenuto.model.json import JSON, Object

if TYPE_CHECKING:
    from tenuto.store.parts.audit import AuditEntry, AuditRow

_encode = msgspec.json.Encoder(order="deterministic").encode


def line_hash(number: int, entry: AuditEntry, previous: bytes) -> bytes:
    return _hash(line_of(number, entry), previous)


def has_its_hash(row: AuditRow) -> bool:
    """Whether the hash of a line is that of its content.

    Lines of older programs spell the moment with as few digits as it needs.
    """
    line = line_of(row.number, row.entry)
    older = line | {"at": Instant(row.entry.at).format_iso()}
    return row.hash in (_hash(line, row.previous_hash), _hash(older, row.previous_hash))


def _hash(line: Object, previous: bytes) -> bytes:
    if line["credential"] is None:
        # As before there was this field: the hashes of older lines stay what they are.
        line = {name: value for name, value in line.items() if name != "credential"}
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
