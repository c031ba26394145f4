"""Tickets: tokens with which schedulers call this service back.

A ticket names the tenant, the schedule and the digest of the payload: it is of no use for another
payload. One of a schedule of this service is made when its callback is sent; one for a scheduler
elsewhere, when a principal asks for it.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from tenuto.api.operation import API
from tenuto.api.signed_tokens import SignedTokens
from tenuto.model.durations import epoch_ms
from tenuto.model.json import JSON
from tenuto.ports import Ids
from tenuto.store.protocol import Store

SCHEDULER_CALLBACK = f"{API}/internal/scheduler/callback"
VALID_FOR = timedelta(hours=1)
"""Longer than an attempt takes: each has a ticket of its own."""
_PORTS = {"http": 80, "https": 443}


class ScheduleTicket(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """In whose name a callback acts. A new field comes last, and is None by default."""

    tenant: str
    schedule_id: str
    until_ms: int
    digest: str | None = None
    """Of the only payload that it is for."""
    is_elsewhere: bool | None = None
    """Whether the schedule is one of another service."""
    maker: str | None = None
    """The key of the principal that asked for it: it ends with that."""

    def is_over(self, now: datetime) -> bool:
        return epoch_ms(now) >= self.until_ms


def schedule_tickets(store: Store, ids: Ids) -> SignedTokens[ScheduleTicket]:
    """The tickets of a store."""
    return SignedTokens(store, ids, ScheduleTicket, "schedule-tickets")


def digest_of(payload: JSON) -> str:
    """A digest of a payload, whatever the order of its fields."""
    return hashlib.sha256(msgspec.json.encode(payload, order="deterministic")).hexdigest()


def leads_to(url: str, service: str, path: str) -> bool:
    """Whether a URL is the one of a path of a service."""
    if not service:
        return False
    asked, own = urlsplit(url), urlsplit(service)
    try:
        is_same = _place(asked.scheme, asked.hostname, asked.port) == _place(
            own.scheme, own.hostname, own.port
        )
    except ValueError:
        return False
    return is_same and asked.path == f"{own.path.rstrip('/')}{path}"


def with_token(url: str, token: str) -> str:
    """The URL with a token, instead of the one that it may have."""
    parts = urlsplit(url)
    others = [each for each in parse_qsl(parts.query) if each[0] != "token"]
    return urlunsplit(parts._replace(query=urlencode([*others, ("token", token)])))


def _place(scheme: str, host: str | None, port: int | None) -> tuple[str, str | None, int | None]:
    return scheme, host, port or _PORTS.get(scheme)
