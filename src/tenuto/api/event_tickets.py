"""Tickets: signed URLs by which outside services hand in events without a credential.

A ticket names the tenant, the subscriber, the events, the expiry, and the instance if it is for one
alone.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from tenuto.api.signed_tokens import SignedTokens
from tenuto.events.names import fits
from tenuto.model.durations import epoch_ms
from tenuto.ports import Ids
from tenuto.store.protocol import Store


class EventTicket(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What its holder may hand in. A new field comes last, and is None by default."""

    tenant: str
    subscriber_id: str
    patterns: tuple[str, ...]
    until_ms: int
    instance_id: str | None = None
    """It ends with this instance, if it is for one."""
    maker: str | None = None
    """It ends with this key, if a key made it."""

    def is_over(self, now: datetime) -> bool:
        return epoch_ms(now) >= self.until_ms

    def allows(self, pattern: str) -> bool:
        return any(fits(each, pattern) for each in self.patterns)


def event_tickets(store: Store, ids: Ids) -> SignedTokens[EventTicket]:
    """The tickets of a store."""
    return SignedTokens(store, ids, EventTicket, "event-tickets")
