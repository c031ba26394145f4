"""An address outside that is told of events: how it was asked for, and how its deliveries go."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from tenuto.store.parts.listeners import Listener


class Endpoint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Where events go, and which of those that fit the patterns."""

    url: str
    secret: str
    """Signs what is sent: `whsec_` and base64."""
    description: str | None = None
    subscriber_id: str | None = None
    """Of a subscription: whoever asked for it."""
    filter: str | None = None
    """Of a subscription: an expression over `event`."""
    correlation_id: str | None = None
    """Of a subscription: only events that have it."""


class Gap(Struct, frozen=True, kw_only=True, rename="camel"):
    """A time for which an address was told nothing, because it had failed for too long."""

    since: datetime
    """Nothing that happened from here on has arrived for certain."""
    until: datetime | None
    """When it was enabled again; None: not yet."""
    lost: int
    """Events that were on their way and were dropped; later ones were not counted."""
    reason: str


class Health(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How deliveries to an address go."""

    delivered_at: datetime | None = None
    """When the last one arrived."""
    failing_since: datetime | None = None
    """Since when none has."""
    tried_at: datetime | None = None
    """When it was tried last, of one that fails."""
    failing_seconds: float = 0.0
    """For how long it was tried in vain: time in which nobody tried does not count."""
    last_error: str | None = None
    disabled_at: datetime | None = None
    gaps: tuple[Gap, ...] = ()


_decode_endpoint = msgspec.json.Decoder(Endpoint).decode
_decode_health = msgspec.json.Decoder(Health).decode


def endpoint_of(listener: Listener) -> Endpoint:
    return _decode_endpoint(listener.settings)


def health_of(listener: Listener) -> Health:
    return _decode_health(listener.health)


def encoded(value: Endpoint | Health) -> bytes:
    return msgspec.json.encode(value)
