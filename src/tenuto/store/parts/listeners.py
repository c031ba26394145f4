"""Listeners: webhooks, subscriptions and definitions that events are delivered to."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes

ListenerLevel: TypeAlias = Literal[1, 2]
"""1: entries that change a status are listened for; 2: those of nodes too."""

ListenerKind: TypeAlias = Literal["definition", "webhook", "subscription"]


class Listener(Struct, frozen=True, gc=False, kw_only=True):
    """Somebody who is told of events: workflows that wait for them, or an address."""

    id: str
    kind: ListenerKind
    patterns: tuple[str, ...]
    level: Literal[0, 1, 2]
    """Which lifecycle events it hears: none, those of instances, those of nodes too."""
    hears_inbox: bool
    """Whether it hears events that come from outside, or from `emit`."""
    settings: bytes
    """JSON, as its owner wrote it: nothing that the store would read."""
    health: bytes = b"{}"
    """JSON: how its deliveries go."""
    created_at: datetime
    expires_at: datetime | None = None
    tenant: str = "default"


class Backlog(NamedTuple):
    """What is on its way to a listener."""

    size: int
    oldest: datetime


class Listeners(Protocol):
    """Who events are delivered to."""

    @writes
    async def put(self, listener: Listener) -> None:
        """Keep a listener, instead of one of the same kind and id; also beside the engine.

        From then on what it listens for leaves a row in the outbox, in the turn that writes it. Of
        a store with one engine this holds for others once that has asked for `listening`.
        """

    @writes
    async def enable(self, listener: Listener) -> bool:
        """Have one that hears nothing hear again, as `listener` says; whether there was one.

        Only its level, `hears_inbox` and health change. One that hears something, or was removed
        meanwhile, stays as it is.
        """

    @writes
    async def change(self, listener: Listener) -> bool:
        """Have one be told elsewhere, or of other things, as `listener` says; whether it was there.

        Only its patterns, settings, level and `hears_inbox` change; one that hears nothing goes on
        hearing nothing. What is on its way to it stays so.
        """

    @writes
    async def remove(self, tenant: str, kind: ListenerKind, id: str) -> bool:
        """Forget a listener and what was on its way to it; whether it was there."""

    @for_tenants
    async def of(self, tenant: str | None) -> list[Listener]:
        """Everybody who listens, or did before it was disabled; oldest first.

        Of one tenant; None: of all of them, for who tells them all.
        """

    async def version(self) -> int:
        """A number that is another one after somebody came, went, or listens for other things.

        How deliveries go does not change it.
        """

    @for_tenants
    async def backlogs(self, tenant: str) -> dict[str, Backlog]:
        """What is on its way, by listener; those to whom nothing is are left out."""
