"""Tickets for widgets: a signed token shows one value of one instance, without a credential."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from tenuto.api.signed_tokens import SignedTokens
from tenuto.model.durations import epoch_ms
from tenuto.model.json import Object
from tenuto.ports import Ids
from tenuto.store.protocol import Store


class WidgetTicket(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What its holder may see. A new field comes last, and is None by default."""

    tenant: str
    instance_id: str
    type: str
    config: Object
    until_ms: int
    maker: str | None = None
    """It ends with this key, if a key made it."""

    def is_over(self, now: datetime) -> bool:
        return epoch_ms(now) >= self.until_ms


def widget_tickets(store: Store, ids: Ids) -> SignedTokens[WidgetTicket]:
    """The tickets of a store."""
    return SignedTokens(store, ids, WidgetTicket, "widget-tickets")
