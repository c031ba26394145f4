"""The inbox: stored events, the look-back of waits at them, and their deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from tenuto.model.events import Event
from tenuto.store.marks import for_tenants, writes


class SealedEvent(Event, frozen=True, gc=False, kw_only=True):
    """An event whose payload is stored encrypted; its content is compared as it was sent."""

    sealed: bytes
    """JSON: the payload as it is stored."""


class OpenedEvent(Event, frozen=True, gc=False, kw_only=True):
    """An event whose payload is stored encrypted, and was decrypted; so are its deliveries."""


class PastTerm(NamedTuple):
    """The value that a payload must have at a path, as text: a store may compare it loosely."""

    path: str
    """Names joined by dots."""
    text: str | None
    number: str | None
    """One of the two is set: the value is text, or a number."""


class EventPlace(NamedTuple):
    """Where a page of the inbox ends, newest first: the next page has the events below it."""

    received_at: datetime
    number: int
    """Pages of a single pattern are in the order of storing: there only the number counts."""


class PastEvents(Struct, frozen=True, gc=False, kw_only=True):
    """The events that a wait looks back at."""

    tenant: str = "default"
    pattern: str | None = None
    """The name of the events; None: any."""
    instance_id: str = ""
    """The instance of the wait; "" for a query without an instance, which finds all events received
    `since`."""
    since: datetime
    """If this is the instance's creation time, the order of storing counts instead: all events that
    were stored after the instance. Clocks of two processes are never quite the same."""
    leeway: timedelta = timedelta()
    """How far a clock may have been behind, if the time counts."""
    terms: tuple[PastTerm, ...] = ()

    @property
    def received_from(self) -> datetime:
        """The earliest time of receipt, if the time counts."""
        return self.since - self.leeway


class PastPage(NamedTuple):
    """Some past events, as pairs (number, event)."""

    items: list[tuple[int, Event]]
    after: int
    """The number of the last event that was examined: the next page begins after it."""
    is_last: bool


MOST_READ = 16_000
"""Larger payloads are not read when many events are searched."""

EARLIER_MS = 60_000
"""No clock is further off: an event that was stored earlier by this much is older for certain."""

DeliveryOutcome: TypeAlias = Literal[
    "matched", "resumed", "cancelled", "started", "discarded", "refused"
]


class Delivery(NamedTuple):
    """An event's delivery to a wait or trigger, and its outcome; unique per (wait, arm, event).

    "matched" may change to any other outcome. An event that a wait or a cancellation trigger missed
    may be taken after a retry has opened it again. No other outcome changes. For an event that
    starts an instance the node is the definition.
    """

    event_id: str
    instance_id: str
    node: str
    iteration: str
    outcome: DeliveryOutcome
    arm: str = ""
    reason: str | None = None
    """Why the event was refused."""
    tenant: str = "default"
    """The tenant of the event and of the instance."""


class PrunedUpTo(NamedTuple):
    """Where a look for events to delete ended, oldest first; in milliseconds."""

    received_at: int
    number: int


class PrunedEvents(NamedTuple):
    """How many events were deleted, and where to continue; None: no older event is left to see."""

    gone: int
    after: PrunedUpTo | None


class InboxEvent(NamedTuple):
    """An event in the inbox: its place in the order of storing, and its effects."""

    number: int
    event: Event
    matched: bool
    """Whether its matching is complete: its recipients are recorded."""
    resumed: int
    cancelled: int
    started: int


class Inbox(Protocol):
    """Stored events and their deliveries."""

    @for_tenants
    async def past(self, asked: PastEvents, *, after: int = 0, limit: int = 100) -> PastPage:
        """Events that a wait may take in its look-back, in the order of storing.

        At most `limit` events are examined; the next page begins after `PastPage.after`. Events
        that cannot match the terms may be left out; events that a wait of the instance has taken
        are left out.
        """

    async def first_past(self, asked: Sequence[PastEvents]) -> list[int | None]:
        """The number of the first event in each look-back, in the order of `asked`; None: no event.

        Each look-back names one pattern; its terms are ignored.
        """

    async def past_texts(
        self, tenant: str, pattern: str, path: str, *, first: int, limit: int
    ) -> list[tuple[int, str | None]]:
        """The values at a path of the payloads of a pattern's events, as pairs (number, text).

        Beginning with the event number `first`, in the order of storing. The text is None if the
        payload has no value there, and if the store cannot read it cheaply: a payload of more than
        `MOST_READ` bytes.
        """

    @for_tenants
    async def latest(
        self,
        tenant: str,
        pattern: str | None,
        since: datetime,
        *,
        limit: int,
        below: EventPlace | None = None,
    ) -> list[InboxEvent]:
        """Events received from `since` on, newest first, of one pattern or all.

        For one pattern only its last `limit` stored events are examined. `below` is the end of the
        previous page.
        """

    @for_tenants
    async def get(self, tenant: str, id: str) -> InboxEvent | None:
        """An event by its id; None if it is not in the inbox."""

    async def unmatched(self, limit: int) -> list[tuple[int, Event]]:
        """Stored events whose matching is not complete; pairs (number, event)."""

    async def deliveries_to(self, instance_id: str) -> list[Delivery]:
        """The deliveries to the waits of one instance.

        For display, and for tests that compare stores: the engine does not use it.
        """

    @for_tenants
    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]:
        """The deliveries of one event, ordered by recipient."""

    @writes
    async def prune(
        self, tenant: str, before: datetime, limit: int, after: PrunedUpTo | None = None
    ) -> PrunedEvents:
        """Delete matched events received before then, with their deliveries.

        Looks at up to `limit` events, oldest first, from `after` on. Events that are still in the
        outbox are kept for now; so are events that are still on their way to a recipient, since the
        outcome of that delivery will be recorded; and events that an instance emitted that has
        not ended.
        """
