"""Rows as SQLite packs them into JSON, read back: bytes are hexadecimal there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tenuto.model.log import LogRow
from tenuto.store.columns import InstanceColumns, instance_row
from tenuto.store.parts.instances import InstanceRow
from tenuto.store.parts.jobs import JobKey, Lease
from tenuto.store.sqlite.session import Session


class OwnerRow(NamedTuple):
    """The owner of an instance; the epoch rises with every takeover."""

    instance_id: str
    process_id: str
    epoch: int


def owners_of(session: Session, ids: tuple[str]) -> list[OwnerRow]:
    return [OwnerRow(*row) for row in session.packed("owner_rows", ids)]


def instances_of(session: Session, ids: tuple[str]) -> list[InstanceRow]:
    return [
        instance_row(InstanceColumns._make([*row[:17], *map(bytes_of, row[17:])]))
        for row in session.packed("instances_by_id", ids)
    ]


def entries_of(rows: Iterable[Sequence[Any]]) -> Iterable[tuple[str, LogRow]]:
    """Log rows beside the instance that each belongs to."""
    return ((row[0], LogRow._make([*row[1:8], bytes_of(row[8]), *row[9:]])) for row in rows)


def bytes_of(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def with_bytes(row: Sequence[Any], *places: int) -> list[Any]:
    """A packed row whose columns at these places are bytes."""
    return [
        bytes.fromhex(value) if place in places and value is not None else value
        for place, value in enumerate(row)
    ]


def jobs_of(session: Session, ids: tuple[str]) -> list[Lease]:
    found = session.packed("jobs_of", ids)
    return sorted(Lease(JobKey(*key), token) for *key, token in found)
