"""Tickets: signed URLs by which outside services hand in events without a credential.

A ticket names the tenant, the subscriber, the events, the expiry, and the instance if it is for one
alone. It is signed with a secret that all processes of a store share, so that each of them can
verify it without reading anything.

Processes of several versions may share a store. A ticket leaves out fields that it does not use, so
that all of them can read it; a process that does not know one of its fields refuses it.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime

import msgspec
from msgspec import Struct

from tenuto.events.names import fits
from tenuto.model.durations import epoch_ms
from tenuto.ports import Ids
from tenuto.store.protocol import Store

_KEPT_AS = "event-tickets"
"""The name of the secret in the store."""
_SIGNATURE_BYTES = 32
_LONGEST = 8_192


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


class EventTickets:
    """Signs and verifies tickets."""

    def __init__(self, store: Store, ids: Ids) -> None:
        self._store = store
        self._ids = ids
        self._secret: bytes | None = None

    async def token(self, ticket: EventTicket) -> str:
        """The ticket as it stands in a URL."""
        said = msgspec.json.encode(_used(ticket))
        return urlsafe_b64encode(await self._signature(said) + said).decode().rstrip("=")

    async def ticket(self, token: str) -> EventTicket | None:
        """The ticket that was given out as this token; None: none was."""
        if len(token) > _LONGEST or not token.isascii():
            return None
        try:
            whole = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except ValueError:
            return None
        signature, said = whole[:_SIGNATURE_BYTES], whole[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, await self._signature(said)):
            return None
        try:
            return msgspec.json.decode(said, type=EventTicket)
        except msgspec.MsgspecError:
            # A valid ticket of another version, with a field that is unknown here.
            return None

    async def _signature(self, said: bytes) -> bytes:
        if self._secret is None:
            proposed = "".join(self._ids.short() for _ in range(4)).encode()
            self._secret = await self._store.access.keep_secret(_KEPT_AS, proposed)
        return hmac.digest(self._secret, said, "sha256")


def _used(ticket: EventTicket) -> list[object]:
    """Its fields, up to the last that says something."""
    fields: list[object] = list(msgspec.structs.astuple(ticket))
    while fields[-1] is None:
        del fields[-1]
    return fields
