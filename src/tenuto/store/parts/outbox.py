"""The outbox: log entries and events that listeners are to be notified of, and the deliveries.

An outbox row is written in the same transaction as the entries or the event that it announces. All
rows of one stream are claimed by one living process at a time, and so are all postings to one
listener: this keeps a stream in order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.model.status import Status
from tenuto.store.marks import claims, writes
from tenuto.store.parts.listeners import Listener, ListenerLevel

TENANTS_IN_TURN: Final = 25
"""Tenants whose oldest rows are in a claim of the outbox, however old those of others are."""

MOST_EVENT_BYTES: Final = 1_000_000
"""Bytes of payload up to which events of the outbox are read at once."""


class Lifecycle(Struct, frozen=True, gc=False):
    """Decides whether the entries of a write have listeners, and get an outbox row."""

    level: ListenerLevel
    status: Status
    """The status of the instance before the write."""
    tenant: str = "default"


class Stretch(NamedTuple):
    """Consecutive entries of an instance's log."""

    instance_id: str
    first_seq: int
    last_seq: int


class OutboxRow(Struct, frozen=True, gc=False, kw_only=True):
    """Something that has listeners: a stretch of an instance's log, or an event."""

    number: int
    """Ascending in the order of writing within a stream."""
    tenant: str
    stream: str
    """Rows of one stream are delivered in order. A stream is an instance, or a single event that no
    instance emitted."""
    first_seq: int = 0
    last_seq: int = 0
    status: str = ""
    """The status of the instance before the first entry."""
    event_number: int = 0
    """The number of the event in the inbox; 0: the row is a stretch."""

    @property
    def stretch(self) -> Stretch:
        """The log entries of the row; meaningless if the row is an event."""
        return Stretch(self.stream, self.first_seq, self.last_seq)


class Posting(Struct, frozen=True, gc=False, kw_only=True):
    """An event on its way to a listener; one per (listener, event)."""

    listener_id: str
    event_id: str
    stream: str
    """Postings of one listener and stream are sent one after the other."""
    body: bytes
    created_at: datetime
    attempts: int = 0
    """The number of failed attempts."""
    is_sealed: bool = False
    """Whether its event is stored encrypted; no column."""


class DuePostings(NamedTuple):
    """Postings that may be sent now, their listeners, and when the next posting is due."""

    items: list[Posting]
    next_due: datetime | None
    listeners: list[Listener]
    """The recipients of `items` that still exist."""


class Settlement(Struct, frozen=True, gc=False, kw_only=True):
    """The results of sending postings to one listener."""

    listener_id: str
    delivered: tuple[str, ...] = ()
    """Ids of delivered events; the next posting of the same stream becomes due."""
    put_off: tuple[tuple[str, datetime], ...] = ()
    """Ids of events whose delivery failed, and when to try again."""
    health: bytes | None = None
    """The listener's new health; None: unchanged."""
    is_disabled: bool = False
    """Whether to disable the listener and delete its undelivered events."""


class Outbox(Protocol):
    """Events on their way to listeners."""

    @claims
    async def claim(
        self, limit: int, *, passing_over: Collection[str] = (), after: str = ""
    ) -> list[OutboxRow]:
        """Claim outbox rows that no other living process has claimed; tenants take turns.

        These are the oldest rows of all, and the oldest few of each of the `TENANTS_IN_TURN`
        tenants that follow `after` in the order of their names, in a circle. They come in turns
        that begin there: one row of each tenant, then the second of each; those of one tenant are
        in order. If there are fewer than `limit`, there are no others.

        Events are not read: a row may be claimed many times before it is drained. A process claims
        all rows of a stream, until it calls `drain`; a store may claim other
        streams after each. Rows of the streams in `passing_over` are left out.
        """

    async def events(self, rows: Sequence[OutboxRow]) -> list[Event | None]:
        """The events of the first of these rows, in order; None: it is not in the inbox any more.

        Of as many rows as have `MOST_EVENT_BYTES` of payload together, and of the first one
        however large it is.
        """

    async def stretches(self, asked: Sequence[Stretch]) -> list[list[LogRow]]:
        """The stored log entries of each stretch, in the order of `asked`."""

    @writes
    async def drain(self, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
        """Replace outbox rows by postings to listeners, in one transaction. Raises Fenced.

        A posting that exists already is not changed; postings to disabled or removed listeners are
        left out. All of this process's claims on outbox rows end.
        """

    @claims
    async def claim_due(
        self,
        now: datetime,
        *,
        most: int,
        each: int,
        busy: Collection[str] = (),
        among: Collection[str] | None = None,
    ) -> DuePostings:
        """Claim due postings of at most `most` listeners, at most `each` per listener.

        Listeners in `busy` are left out; with `among` all others are. Listeners whose postings
        have been due the longest come first. Of each stream of a listener only the oldest posting
        may be sent. The due postings of a listener alternate between new ones and retries, each
        with the longest due first, so that neither delays the other. All postings to a listener are
        claimed by one living process, until it calls `settle`.
        """

    @writes
    async def settle(self, settlement: Settlement) -> None:
        """Record the results of sending to a listener, and end the claim on it.

        Raises Fenced, and records nothing, if this process does not hold the claim. In a store with
        a single process every listener counts as claimed by it.
        """
