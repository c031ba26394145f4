"""Rows as SQLite packs them into JSON, read back: bytes are hexadecimal there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tenuto.model.log import LogRow
from tenuto.store.columns import InstanceColumns, instance_row
from tenuto.store.parts.instances import InstanceRow
from tenuto.store.parts.jobs import JobKey, Lease
from tenuto.store.sqlite.session import Parameters, Session, as_json


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


def entries_of(session: Session, name: str, parameters: Parameters) -> list[tuple[str, LogRow]]:
    """Log rows beside the instance that each belongs to.

    Large payloads are read one by one: packed, each would be in memory several times.
    """
    rows = session.packed(name, parameters)
    apart = [[row[0], row[1]] for row in rows if row[8] == 0]
    if not apart:
        return [(row[0], _entry(row, bytes_of(row[8]))) for row in rows]
    found = session.rows("payloads", (as_json(apart),))
    large = {(id, seq): payload for id, seq, payload in found}
    # An entry that was erased meanwhile is not there.
    return [
        (row[0], _entry(row, large[row[0], row[1]] if row[8] == 0 else bytes_of(row[8])))
        for row in rows
        if row[8] != 0 or (row[0], row[1]) in large
    ]


def _entry(row: Sequence[Any], payload: bytes | None) -> LogRow:
    return LogRow._make([*row[1:8], payload, *row[9:]])


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
