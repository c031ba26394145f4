"""Stored events: those that waits look back at, and what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from tenuto.model.events import Event
from tenuto.store.marks import for_tenants, writes


class PastTerm(NamedTuple):
    """What a payload has to have at a path, as text and never exactly: a store compares loosely."""

    path: str
    """Names joined by dots."""
    text: str | None
    number: str | None
    """One of the two: what stands there is text, or a number."""


class EventPlace(NamedTuple):
    """Where a page of the inbox ends, newest first: those below it follow."""

    received_at: datetime
    number: int
    """Of one pattern it alone counts: pages of it are in the order of storing."""


class PastEvents(Struct, frozen=True, gc=False, kw_only=True):
    """Which events a wait looks back at."""

    tenant: str = "default"
    pattern: str | None = None
    """The name of the events; None: any."""
    instance_id: str = ""
    """Whose wait it is; "" is nobody's, who takes whatever came `since`."""
    since: datetime
    """Where that is when the instance was created, the order of storing counts instead: whatever
    was stored after it. Clocks of two processes are never quite the same."""
    leeway: timedelta = timedelta()
    """By how much a clock may have been behind where time counts."""
    terms: tuple[PastTerm, ...] = ()

    @property
    def received_from(self) -> datetime:
        """When the oldest was received, where time counts."""
        return self.since - self.leeway


class PastPage(NamedTuple):
    """Some past events, as pairs (number, event)."""

    items: list[tuple[int, Event]]
    after: int
    """The number of the last that was looked at: where the next page begins."""
    is_last: bool


MOST_READ = 16_000
"""So large a payload is looked into, where many are."""

EARLIER_MS = 60_000
"""No clock is so far off: what was stored before an event of that age is older than it."""

DeliveryOutcome: TypeAlias = Literal[
    "matched", "resumed", "cancelled", "started", "discarded", "refused"
]


class Delivery(NamedTuple):
    """An event went to a wait or trigger, and what came of it; unique per (wait, arm, event).

    "matched" may become anything else. What a wait missed it may take once a retry has opened it
    anew, and so may a cancellation trigger; nothing else changes any more. Of an instance that an
    event starts the node is the definition.
    """

    event_id: str
    instance_id: str
    node: str
    iteration: str
    outcome: DeliveryOutcome
    arm: str = ""
    reason: str | None = None
    """Why it was refused."""
    tenant: str = "default"
    """Whose the event is, and the instance."""


class InboxEvent(NamedTuple):
    """An event as it lies in the inbox: its place in the order of storing, and what it did."""

    number: int
    event: Event
    matched: bool
    """Whether whom it is for is recorded."""
    resumed: int
    cancelled: int
    started: int


class Inbox(Protocol):
    """Stored events and their deliveries."""

    @for_tenants
    async def past(self, asked: PastEvents, *, after: int = 0, limit: int = 100) -> PastPage:
        """What a wait that looks back may take, in the order of storing; `limit` are looked at.

        The next page comes `after` what the last one says. What cannot fit its terms may be left
        out, and whatever a wait of the instance has taken is.
        """

    async def first_past(self, asked: Sequence[PastEvents]) -> list[int | None]:
        """The number of the first event that each may look back at, in their order; None: none.

        Each asks for one name, and its terms do not count.
        """

    async def past_texts(
        self, tenant: str, pattern: str, path: str, *, first: int, limit: int
    ) -> list[tuple[int, str | None]]:
        """What stands at a path of events of a name, as text, beside their numbers, in their order.

        None stands for what is not there, and for what a store cannot tell, or not at little cost:
        a payload of more than `MOST_READ` bytes.
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
    ) -> list[tuple[int, Event]]:
        """The inbox from `since`, newest first, of one pattern or all; pairs (number, event).

        Of one pattern those among the last `limit` that were stored; `below` is where the page
        before ended.
        """

    @for_tenants
    async def get(self, tenant: str, id: str) -> InboxEvent | None:
        """One event of the inbox, if it is there."""

    async def unmatched(self, limit: int) -> list[tuple[int, Event]]:
        """Stored events whose matching has not been recorded; pairs (number, event)."""

    async def deliveries_to(self, instance_id: str) -> list[Delivery]:
        """Which events went to the waits of one instance, and what came of them.

        For people, and for tests that two stores keep the same: the engine never asks.
        """

    @for_tenants
    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]:
        """To whom one event went, and what came of it, ordered by the place that it went to."""

    @writes
    async def prune(self, tenant: str, before: datetime, limit: int) -> int:
        """Forget events received before then that were matched, and whom they went to.

        At most `limit`, oldest first; how many. What is in the outbox is left for later, and so is
        what has not arrived yet where it is for: that will be written down beside it.
        """
