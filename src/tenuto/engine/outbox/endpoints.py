"""A webhook endpoint: its configuration, and the health of its deliveries."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from tenuto.store.parts.listeners import Listener


class Endpoint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Where events go, and which of those that match the patterns."""

    url: str
    secret: str
    """Signs requests: `whsec_` and base64."""
    description: str | None = None
    subscriber_id: str | None = None
    """Of a subscription: the principal that made it."""
    filter: str | None = None
    """Of a subscription: an expression over `event`."""
    correlation_id: str | None = None
    """Of a subscription: only events that have it."""


class Gap(Struct, frozen=True, kw_only=True, rename="camel"):
    """A time without deliveries, because the endpoint had failed for too long."""

    since: datetime
    """No later event has certainly arrived."""
    until: datetime | None
    """When it was enabled again; None: not yet."""
    lost: int
    """Deliveries that were dropped; later events were not counted."""
    reason: str


class Health(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The health of an endpoint."""

    delivered_at: datetime | None = None
    """When the last delivery arrived."""
    failing_since: datetime | None = None
    """Since when none has."""
    tried_at: datetime | None = None
    """When a failing endpoint was tried last."""
    failing_seconds: float = 0.0
    """For how long it was tried in vain: time without tries does not count."""
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
