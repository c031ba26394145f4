"""Instances that others, or events, started: who the parent is, how deep, under which id."""

from __future__ import annotations

import hashlib
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tenuto.model.durations import epoch_ms, iso
from tenuto.model.ids import NodeKey

MOST_DEPTH = 20
"""The deepest nesting of child instances below the root."""

_HASH_BITS = 74
"""The random bits of a UUIDv7."""
_KEY = "schedule:"
_MOMENT = len("2026-01-01T00:00:00.000Z")


class Parent(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """Which attempt of which node of which instance started this one, and how deep it lies."""

    id: str
    node: str
    iteration: str = ""
    attempt: int = 1
    root_id: str
    """The instance at the top, which has no parent."""
    depth: int
    """How many instances are above: 1 for a child of the root."""
    mutexes: tuple[str, ...] = ()
    """The mutexes that the steps around it have."""
    slots: tuple[str, ...] = ()
    """The instances above it that have slots, or ask for them."""


def origin_of(id: str, parent: Parent | None, origin: str | None) -> str:
    """The instance that all of a family, and of those that its events start, count for.

    `origin` is the one that led to the family's root by events, if one did.
    """
    if origin is not None:
        return origin
    return id if parent is None else parent.root_id


def child_id(at: datetime, parent_id: str, key: NodeKey, attempt: int) -> str:
    """The id of the child that one attempt starts: a UUIDv7 that follows from these alone.

    Its time is that of the entry that dispatched the attempt, so that children are sorted by their
    start; the rest is a hash, so that no two attempts share a child and the id can be computed
    again.
    """
    place = f"{parent_id}:{key.node}:{key.iteration}:{attempt}"
    return _derived_id(at, place, b"tenuto child id")


def triggered_id(at: datetime, tenant: str, event_id: str, definition_id: str) -> str:
    """The id of the instance that an event starts: one for each event and definition."""
    return _derived_id(at, f"{tenant}:{definition_id}:{event_id}", b"tenuto trigger")


def scheduled_id(tenant: str, schedule_id: str, nominal: datetime) -> str:
    """The id of the instance that a tick starts: one for each schedule and nominal time."""
    return _derived_id(nominal, f"{tenant}:{schedule_id}:{epoch_ms(nominal)}", b"tenuto schedule")


def tick_key(schedule_id: str, moment: datetime) -> str:
    """The idempotency key of the instance that a tick starts: at most one has it."""
    return f"{_KEY}{schedule_id}:{iso(moment)}"


def read_tick_key(key: str) -> tuple[str, datetime] | None:
    """The schedule and the nominal time of such a key; None: it is another key."""
    id, moment = key[len(_KEY) : -_MOMENT - 1], key[-_MOMENT:]
    try:
        found = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return (id, found) if found.tzinfo is not None and tick_key(id, found) == key else None


def _derived_id(at: datetime, place: str, person: bytes) -> str:
    digest = hashlib.blake2b(place.encode(), digest_size=16, person=person).digest()
    rest = int.from_bytes(digest) >> (128 - _HASH_BITS)
    number = (
        (epoch_ms(at) & ((1 << 48) - 1)) << 80
        | 0x7 << 76
        | (rest >> 62) << 64
        | 0b10 << 62
        | (rest & ((1 << 62) - 1))
    )
    return str(UUID(int=number))
