"""Listeners, outbox rows and postings as columns, the same for every store."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, cast

import msgspec

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.events import Event, stream_of
from tenuto.store.columns import EventColumns, event_value, from_ms, to_ms
from tenuto.store.parts.listeners import Delivery, DeliveryPlace, Listener, ListenerKind
from tenuto.store.parts.outbox import OutboxRow, Posting
from tenuto.store.parts.turns import InstanceWrite

SHARES = 16
"""Parts of the outbox, each of which one process has in hand: a stream is all in one."""

_decode_patterns = msgspec.json.Decoder(tuple[str, ...]).decode


class ListenerColumns(NamedTuple):
    """A row of listeners."""

    tenant: str
    kind: str
    id: str
    patterns: str
    level: int
    hears_inbox: int
    settings: bytes
    health: bytes
    created_at: int
    expires_at: int | None


class OutboxColumns(NamedTuple):
    """An outbox row for a stretch of a log, with the level that a listener must have for it."""

    tenant: str
    share: int
    instance_id: str
    first_seq: int
    last_seq: int
    status: str
    level: int


class PostingColumns(NamedTuple):
    """A row of webhook_deliveries, without its number and due time."""

    listener_id: str
    event_id: str
    stream: str
    body: bytes
    created_at: int
    attempts: int


def listener_columns(listener: Listener) -> ListenerColumns:
    return ListenerColumns(
        listener.tenant,
        listener.kind,
        listener.id,
        msgspec.json.encode(listener.patterns).decode(),
        listener.level,
        int(listener.hears_inbox),
        listener.settings,
        listener.health,
        epoch_ms(listener.created_at),
        to_ms(listener.expires_at),
    )


def listener_of(columns: ListenerColumns) -> Listener:
    return Listener(
        tenant=columns.tenant,
        kind=cast("ListenerKind", columns.kind),
        id=columns.id,
        patterns=_decode_patterns(columns.patterns),
        level=cast("Literal[0, 1, 2]", columns.level),
        hears_inbox=bool(columns.hears_inbox),
        settings=columns.settings,
        health=columns.health,
        created_at=from_epoch_ms(columns.created_at),
        expires_at=from_ms(columns.expires_at),
    )


def outbox_columns(writes: Iterable[InstanceWrite], heard: int = 2) -> list[OutboxColumns]:
    """The outbox rows of these writes, for levels up to `heard`."""
    return [
        OutboxColumns(
            lifecycle.tenant,
            share_of(write.instance_id),
            write.instance_id,
            write.rows[0].seq,
            write.rows[-1].seq,
            lifecycle.status,
            lifecycle.level,
        )
        for write in writes
        if (lifecycle := write.lifecycle) is not None and write.rows and lifecycle.level <= heard
    ]


def outbox_row(row: Iterable[Any]) -> OutboxRow:
    """A row of outbox with its number, and the number of the event that it tells of.

    The id of the event is there where an older program has written no stream.
    """
    number, tenant, stream, first_seq, last_seq, status, event_number, event_id = row
    return OutboxRow(
        number=number,
        tenant=tenant,
        stream=stream_of(tenant, event_id) if event_id else stream,
        first_seq=first_seq,
        last_seq=last_seq,
        status=status,
        event_number=event_number or 0,
    )


def outbox_event(columns: Sequence[Any]) -> Event | None:
    """An event that a row tells of; None where the columns are empty."""
    return None if columns[0] is None else event_value(EventColumns._make(columns))


def posting_columns(posting: Posting) -> PostingColumns:
    return PostingColumns(
        posting.listener_id,
        posting.event_id,
        posting.stream,
        posting.body,
        epoch_ms(posting.created_at),
        posting.attempts,
    )


def posting_of(columns: PostingColumns) -> Posting:
    return Posting(
        listener_id=columns.listener_id,
        event_id=columns.event_id,
        stream=columns.stream,
        body=columns.body,
        created_at=from_epoch_ms(columns.created_at),
        attempts=columns.attempts,
    )


def share_of(stream: str) -> int:
    return zlib.crc32(stream.encode("utf-8", "surrogatepass")) % SHARES


def delivery_bounds(
    tenant: str, id: str, after: DeliveryPlace | None, limit: int
) -> dict[str, str | int]:
    """The parameters of a list of deliveries."""
    place = (-1, -1) if after is None else (epoch_ms(after.due), after.number)
    return {"tenant": tenant, "id": id, "due": place[0], "number": place[1], "limit": limit}


def delivery_in(row: Sequence[Any]) -> Delivery:
    """A delivery as its statement reads it."""
    number, event_id, stream, created_at, attempts, due = row
    return Delivery(
        number, event_id, stream, from_epoch_ms(created_at), attempts, from_epoch_ms(due)
    )
