"""Listeners: webhooks, subscriptions and definitions that events are delivered to."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes

HASTENED = 1_000
"""So many deliveries are made due in one transaction."""
ListenerLevel: TypeAlias = Literal[1, 2]
"""1: entries that change an instance's status; 2: entries of nodes too."""

ListenerKind: TypeAlias = Literal["definition", "webhook", "subscription"]


class Listener(Struct, frozen=True, gc=False, kw_only=True):
    """A recipient of events: a definition whose workflows wait for them, or an address."""

    id: str
    kind: ListenerKind
    patterns: tuple[str, ...]
    level: Literal[0, 1, 2]
    """Which lifecycle events it receives: 0 none, 1 those of instances, 2 those of nodes too."""
    hears_inbox: bool
    """Whether it receives events that are published from outside, or by `emit`."""
    settings: bytes
    """JSON, as its owner wrote it; the store does not read it."""
    health: bytes = b"{}"
    """JSON: the state of its deliveries."""
    created_at: datetime
    expires_at: datetime | None = None
    tenant: str = "default"


class Backlog(NamedTuple):
    """Undelivered events of a listener."""

    size: int
    oldest: datetime


class Delivery(NamedTuple):
    """The first undelivered event of a stream, on its way to a listener."""

    number: int
    event_id: str
    stream: str
    created_at: datetime
    attempts: int
    """The number of failed attempts."""
    due: datetime
    """When it is tried next."""


class DeliveryPlace(NamedTuple):
    """The place of a delivery in its list."""

    due: datetime
    number: int


class Listeners(Protocol):
    """The recipients of events."""

    @writes
    async def put(self, listener: Listener) -> None:
        """Store a listener, replacing one of the same kind and id; needs no lock.

        From then on each turn also writes outbox rows for the events that it listens for. In a
        store with a single engine process, a listener stored by another process takes effect once
        the engine has read the `version`.
        """

    @writes
    async def enable(self, listener: Listener) -> bool:
        """Enable a disabled listener again, as `listener` says; returns whether it was disabled.

        Only its level, `hears_inbox` and health change. A listener that is enabled, or was removed
        meanwhile, is not changed.
        """

    @writes
    async def change(self, listener: Listener) -> bool:
        """Change a listener's address or the events that it receives; returns whether it exists.

        Only its patterns, settings, level and `hears_inbox` change; a disabled listener stays
        disabled. Events that are on their way to it stay so.
        """

    @writes
    async def remove(self, tenant: str, kind: ListenerKind, id: str) -> bool:
        """Delete a listener and its undelivered events; returns whether it existed."""

    @for_tenants
    async def of(self, tenant: str | None) -> list[Listener]:
        """The listeners of a tenant, disabled ones included, oldest first; None: of all tenants."""

    async def version(self) -> int:
        """A number that changes whenever a listener is added, changed or removed.

        Changes of `health` do not count.
        """

    @for_tenants
    async def backlogs(self, tenant: str) -> dict[str, Backlog]:
        """Undelivered events by listener id; listeners without any are left out."""

    @for_tenants
    async def deliveries(
        self, tenant: str, id: str, *, after: DeliveryPlace | None = None, limit: int = 100
    ) -> list[Delivery]:
        """Deliveries to a listener in the order in which they are tried.

        Of each stream the first is listed: the others follow it.
        """

    @writes
    async def hasten(self, tenant: str, id: str, now: datetime) -> int:
        """Make all deliveries to a listener due by `now`; how many were put off beyond it."""
