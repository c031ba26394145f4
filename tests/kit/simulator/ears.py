"""Puts those who listen into a store, and reads back how that goes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from tenuto.engine.definitions.listener_rows import hears_inbox, level_heard
from tenuto.engine.outbox.endpoints import Endpoint, encoded
from tenuto.model.durations import iso
from tenuto.store.parts.listeners import Listener
from tenuto.store.protocol import Store
from tests.kit.checker.record import Fields
from tests.kit.simulator.outside import Ear

_SECRET = "whsec_c2ltdWxhdGVkIHNlY3JldCBmb3Igbm9ib2R5"


async def put(store: Store, ears: Sequence[Ear], *, began: datetime, now: datetime) -> None:
    """Have all of them listen; those who do so already are left as they are."""
    there = {
        (tenant, each.id)
        for tenant in {ear.tenant for ear in ears}
        for each in await store.listeners.of(tenant)
    }
    for ear in ears:
        until = None if ear.expires_after is None else began + timedelta(seconds=ear.expires_after)
        is_over = until is not None and until <= now
        if (ear.tenant, ear.id) not in there and not is_over:
            await store.listeners.put(_listener(ear, until, now))


def _listener(ear: Ear, until: datetime | None, now: datetime) -> Listener:
    is_subscription = ear.kind == "subscription"
    endpoint = Endpoint(
        url=ear.url,
        secret=_SECRET,
        subscriber_id="somebody" if is_subscription else None,
        filter=ear.filter,
    )
    return Listener(
        id=ear.id,
        kind=ear.kind,
        patterns=ear.patterns,
        level=level_heard(ear.patterns),
        hears_inbox=hears_inbox(ear.patterns),
        settings=encoded(endpoint),
        created_at=now,
        expires_at=until,
        tenant=ear.tenant,
    )


async def read(store: Store, ears: Sequence[Ear], began: datetime) -> list[Fields]:
    """What the checker has to know of each."""
    found: list[Fields] = []
    for ear in ears:
        known = {each.id: each for each in await store.listeners.of(ear.tenant)}
        listener = known.get(ear.id)
        until = None if ear.expires_after is None else began + timedelta(seconds=ear.expires_after)
        found.append(
            {
                "id": ear.id,
                "kind": ear.kind,
                "tenant": ear.tenant,
                "patterns": list(ear.patterns),
                "filter": ear.filter,
                "isThere": listener is not None,
                "expiresAt": None if until is None else iso(until),
                "health": {} if listener is None else msgspec.json.decode(listener.health),
            }
        )
    return found
