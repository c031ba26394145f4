"""What a store promises about those who listen: who they are, what is told, and what is sent.

A row of the outbox is written with what it tells of. All rows of one stream are in one living
process's hands, and so is all that is on its way to one listener: so a stream is told in order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.model.status import Status
from tenuto.store.marks import claims, writes
from tenuto.store.parts.listeners import Listener, ListenerLevel


class Lifecycle(NamedTuple):
    """What tells whether anybody listens for the entries of a write."""

    level: ListenerLevel
    status: Status
    """Of the instance before the write."""
    tenant: str = "default"


class Stretch(NamedTuple):
    """Some entries of an instance's log, one after the other."""

    instance_id: str
    first_seq: int
    last_seq: int


class OutboxRow(Struct, frozen=True, gc=False, kw_only=True):
    """Something that somebody listens for: a stretch of an instance's log, or an event."""

    number: int
    """Rises with what is written in one stream."""
    tenant: str
    stream: str
    """What is told in order: an instance; or an event that no instance emitted, by itself."""
    first_seq: int = 0
    last_seq: int = 0
    status: str = ""
    """Of the instance before its first entry."""
    event: Event | None = None

    @property
    def stretch(self) -> Stretch:
        """The entries that it tells of; of an event there are none."""
        return Stretch(self.stream, self.first_seq, self.last_seq)


class Posting(Struct, frozen=True, gc=False, kw_only=True):
    """An event on its way to a listener; one per (listener, event)."""

    listener_id: str
    event_id: str
    stream: str
    """Those of one listener and stream go out one after the other."""
    body: bytes
    created_at: datetime
    attempts: int = 0
    """How often it was tried in vain."""


class DuePostings(NamedTuple):
    """What may go out now, to whom, and when more may."""

    items: list[Posting]
    next_due: datetime | None
    listeners: list[Listener]
    """Those to whom `items` go, as far as they are there."""


class Settlement(Struct, frozen=True, gc=False, kw_only=True):
    """What became of postings to one listener."""

    listener_id: str
    delivered: tuple[str, ...] = ()
    """Ids of events; what follows each in its stream is due from now on."""
    put_off: tuple[tuple[str, datetime], ...] = ()
    """Ids of events that did not go through, and when to try again."""
    health: bytes | None = None
    """What is known of it from now on; None: as before."""
    is_disabled: bool = False
    """From now on it hears nothing, and what was on its way to it is gone."""


class Outbox(Protocol):
    """Events on their way to listeners."""

    @claims
    async def claim(self, limit: int, *, passing_over: Collection[str] = ()) -> list[OutboxRow]:
        """The oldest rows of the outbox that no other living process has, in order.

        All rows of one stream are one process's, until it says that they are `drained`. Those of
        the streams that are passed over are left out.
        """

    async def stretches(self, asked: Sequence[Stretch]) -> list[list[LogRow]]:
        """Of each what is there of it, in the order in which they were asked for."""

    @writes
    async def drain(self, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
        """Take rows off the outbox and, in the same transaction, put events on their way; Fenced.

        A posting that is there stays as it is; one to a listener that hears nothing, or is gone, is
        left out. What this process had of the outbox is nobody's.
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
        """What may go out to `most` listeners, `each` at most to one, and to none of the `busy`.

        Of each stream of a listener that is the oldest. Among listeners those come first for whom
        something has been due the longest; where `among` names some, no others come. Of what is
        due to one, what was never tried and what did not arrive come by turns, of both the longest
        due first: so neither keeps the other waiting. All that is on its way to one of them is
        one living process's, until it has been `settle`d.
        """

    @writes
    async def settle(self, settlement: Settlement) -> None:
        """Record what became of postings to a listener, and let it go.

        Fenced where it is not this process's, or not any more: then nothing is recorded. Where a
        store has one process all of them are.
        """
