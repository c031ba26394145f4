"""Drains the outbox: turns its rows into events for workflows, and deliveries for webhooks.

A row is written with the change that it announces, and removed once its consequences are durable:
events in the inbox for workflows that wait for them, and rows of deliveries. A drain that breaks
off is repeated, with the same ids. A row that cannot be handled delays its own instance only, and
rows that take long delay their own tenant only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from tenuto.core.lifecycle import Told, events_of
from tenuto.encryption.values import readable
from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.events.slices import Slices
from tenuto.engine.outbox.fan_out import Audiences
from tenuto.engine.outbox.pace import Pace
from tenuto.engine.outbox.parked_streams import ParkedStreams
from tenuto.engine.outbox.preparations import Notice, Preparations, Prepared
from tenuto.model.errors import Overloaded, StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.ports import Clock
from tenuto.store.errors import DataRefused, Fenced
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.store.parts.listeners import Listener
from tenuto.store.parts.outbox import TENANTS_IN_TURN, OutboxRow, Stretch
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.outbox")

PAGE = 200
"""Rows of the outbox that are handled together."""


class Drainer:
    """Empties the outbox."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        publish: Callable[[Event], Awaitable[object]],
        known: Callable[[Sequence[Listener]], None] = lambda _: None,
        bounds: Bounds = DEFAULT_BOUNDS,
        pace: Pace | None = None,
        slices: Slices | None = None,
    ) -> None:
        """`publish` stores an event once, and matches it.

        `known` is called with all subscribers, whenever they have changed. `slices`: those in which
        filters are evaluated.
        """
        self._known = known
        self._bounds = bounds
        self._pace = pace or Pace(clock)
        self._slices = slices or Slices(clock)
        self._store = store
        self._clock = clock
        self._publish = publish
        self._audiences = Audiences()
        self.is_listened_to = False
        """Whether there were subscribers at the last pass; every step asks."""
        self._listening: int | None = None
        """The change of the subscribers from which the audiences were made."""
        self._aside = ParkedStreams(clock)
        self._preparations = Preparations(self._prepared)
        self._page = PAGE
        self._after = ""
        """The tenant behind which the next turn of tenants begins."""

    @property
    def undelivered(self) -> Mapping[str, str]:
        """The reasons: undelivered streams by instance or event, unreadable webhooks by id."""
        return {**self._aside.reasons, **self._audiences.unreadable}

    @property
    def next_try(self) -> datetime | None:
        """When the first parked stream is retried."""
        return self._aside.next_try

    async def is_quiet(self) -> bool:
        """Whether there are no subscribers, and were none at the last pass.

        Then the outbox is empty, but for rows written just before the last one left.
        """
        if self.is_listened_to or self._listening is None:
            return False
        return await self._store.listeners.version() == self._listening

    async def run_once(self) -> bool:
        """Handle a page of rows; returns whether there may be more."""
        aside = self._aside.resting()
        rows = await self._store.outbox.claim(self._page, passing_over=aside, after=self._after)
        if len(rows) < self._page:
            self._aside.went(self._aside.reasons.keys() - aside - {row.stream for row in rows})
        # Afterwards: the subscriber for which a row was written is among them, even if it is new.
        await self._read_subscribers()
        rows = [row for row in rows if row.stream not in aside]
        if not rows:
            return False
        await self._notify(self._one_pass(rows))
        return True

    async def stop(self) -> None:
        """End preparations; another process drains their rows."""
        await self._preparations.stop()

    def _one_pass(self, rows: Sequence[OutboxRow]) -> Sequence[OutboxRow]:
        """The rows of one pass: a turn may have written thousands of entries, for many webhooks."""
        bounds = self._bounds
        most = bounds.shared_outbox_events if self._pace.is_shared else bounds.outbox_events
        rows_made = 0
        has_fresh = False
        for place, row in enumerate(rows):
            if row.tenant in self._preparations:
                continue
            webhooks = self._audiences.of(row.tenant).webhooks
            rows_made += (row.last_seq - row.first_seq + 1) * max(1, webhooks)
            if rows_made > most and has_fresh:
                return rows[:place]
            has_fresh = True
        return rows

    async def _read_subscribers(self) -> None:
        listening = await self._store.listeners.version()
        if listening != self._listening:
            listeners = await self._store.listeners.of(None)
            self._audiences = Audiences(listeners)
            self.is_listened_to = self._audiences.is_listened_to
            self._known(listeners)
            # Read before the rows: if subscribers changed meanwhile, they are read again.
            self._listening = listening

    async def _notify(self, rows: Sequence[OutboxRow]) -> None:
        fresh = [row for row in rows if row.tenant not in self._preparations]
        events = await self._events(fresh)
        # Those behind the large events of one tenant are left, and so is the turn of their tenants.
        in_turn = rows if len(events) == len(fresh) else rows[: rows.index(fresh[len(events)])]
        notices: dict[str, list[Notice]] = {}
        for notice in await self._read(fresh[: len(events)], events):
            notices.setdefault(notice.row.tenant, []).append(notice)
        for tenant, its_own in notices.items():
            self._preparations.begin(tenant, its_own)
        await self._preparations.wait()
        failures = self._preparations.failures()
        drained, postings = self._preparations.take(rows)
        try:
            # Also where none are ready: then others are claimed next.
            numbers = [row.number for row in drained]
            await self._pace.write(
                lambda: self._store.outbox.drain(numbers, postings),
                {row.tenant for row in drained},
            )
        except DataRefused as error:
            self._preparations.drop({row.tenant for row in drained})
            # Divided by halves, until the faulty row stands alone.
            self._page = max(1, len(drained) // 2)
            if len(drained) == 1:
                self._aside.put(drained[0].stream, error)
            return
        self._page = min(PAGE, self._page * 2)
        self._turn_on(in_turn)
        self._aside.went({row.stream for row in drained} - self._aside.resting())
        for failure in failures:
            raise failure

    async def _prepared(self, notices: Sequence[Notice]) -> Prepared:
        """The postings of one tenant's rows; rows whose events are refused have to stay."""
        now = self._clock.now()
        prepared: Prepared = {}
        for notice in await self._in_inbox(notices):
            postings = prepared[notice.row.number] = []
            for event in notice.events:
                slices = self._slices.of(event.tenant)
                audience = self._audiences.of(event.tenant)
                for posting in audience.postings_of(event, now, slices.steps):
                    if posting is not None:
                        postings.append(posting)
                    await slices.turn()
        return prepared

    def _turn_on(self, rows: Sequence[OutboxRow]) -> None:
        """Begin the next turn behind the last tenant that surely had one.

        Others are among the oldest rows by chance. Each parked stream may hide a tenant.
        """
        tenants = list(dict.fromkeys(row.tenant for row in rows))
        sure = max(1, TENANTS_IN_TURN - len(self._aside.resting()))
        self._after = tenants[:sure][-1]

    async def _events(self, rows: Sequence[OutboxRow]) -> list[Event | None]:
        """The events of the first of these rows; None: it has none, or it is not there any more.

        Large events are read a few at a time: the rows behind them are left to a later pass.
        """
        told = [row for row in rows if row.event_number]
        inbox = await self._store.outbox.events(told) if told else []
        if len(inbox) < len(told):
            rows = rows[: rows.index(told[len(inbox)])]
        events = iter(inbox)
        return [next(events) if row.event_number else None for row in rows]

    async def _read(
        self, rows: Sequence[OutboxRow], events_in: Sequence[Event | None]
    ) -> list[Notice]:
        """The notices of rows, in order; a stream with an unreadable row is parked."""
        stretches = [row.stretch for row in rows if not row.event_number]
        tenants = {row.stream: row.tenant for row in rows if not row.event_number}
        instances = await self._instances(tenants)
        # The first entry of an instance has the number of lifecycle starts that led to it.
        firsts = [id for id in tenants if self._audiences.of(tenants[id]).has_definitions]
        asked = [*stretches, *(Stretch(id, 1, 1) for id in firsts)]
        found = await self._store.outbox.stretches(asked) if asked else []
        entries = iter(found)
        chains = dict(zip(firsts, found[len(stretches) :], strict=True))
        notices: list[Notice] = []
        unread: set[str] = set()
        for row, event in zip(rows, events_in, strict=True):
            log_rows = [] if row.event_number else next(entries)
            if row.stream in unread:
                continue
            try:
                events = [readable(event)] if event is not None else []
                if (instance := instances.get(row.stream)) is not None and not row.event_number:
                    lifecycle = _lifecycle_of(instance, chains.get(row.stream, ()))
                    events = list(events_of(lifecycle, row.status, log_rows))
            except Exception as error:  # noqa: BLE001 - one that cannot be read keeps no other
                unread.add(row.stream)
                self._aside.put(row.stream, error)
            else:
                notices.append(Notice(row, events))
        return notices

    async def _instances(self, tenants: Mapping[str, str]) -> dict[str, InstanceRow]:
        """The tenants of instances, from their rows."""
        ids: dict[str, list[str]] = {}
        for id, tenant in tenants.items():
            ids.setdefault(tenant, []).append(id)
        found: list[InstanceRow] = []
        for tenant, its_own in ids.items():
            query = InstanceQuery(ids=tuple(its_own), limit=len(its_own), tenant=tenant)
            found += (await self._store.instances.page(query)).items
        return {row.id: row for row in found}

    async def _in_inbox(self, notices: Sequence[Notice]) -> list[Notice]:
        """Put events that workflows wait for into the inbox; returns the rows that succeeded.

        Only workflows read lifecycle events there. Those of one instance go in one after the other,
        in their order.
        """
        wanted: dict[str, list[tuple[int, Event]]] = {}
        for notice in notices:
            if not notice.row.event_number:
                wanted.setdefault(notice.row.stream, []).extend(
                    (notice.row.number, event)
                    for event in notice.events
                    if self._audiences.of(event.tenant).is_for_workflows(event)
                )
        streams = [stream for stream, events in wanted.items() if events]
        refused = await asyncio.gather(*(self._put_all(wanted[each]) for each in streams))
        first_refused: dict[str, int] = {}
        for stream, refusal in zip(streams, refused, strict=True):
            if refusal is not None:
                number, error = refusal
                first_refused[stream] = number
                self._aside.put(stream, error)
        return [
            notice
            for notice in notices
            if notice.row.number < first_refused.get(notice.row.stream, notice.row.number + 1)
        ]

    async def _put_all(self, events: Iterable[tuple[int, Event]]) -> tuple[int, Exception] | None:
        """The number of the row whose event cannot be stored, if there is one."""
        for number, event in events:
            try:
                await self._put(event)
            except (StoreUnavailable, Overloaded, Fenced):
                raise
            except Exception as error:  # noqa: BLE001 - one that is refused keeps no other
                return number, error
        return None

    async def _put(self, event: Event) -> None:
        # An event of an earlier try keeps its moment: matching uses that copy.
        received = msgspec.structs.replace(event, received_at=self._clock.now())
        try:
            await self._publish(received)
        except (StoreUnavailable, Overloaded):
            raise
        except TenutoError as error:
            # Another event has this id, and that will never change.
            log.error("event=%s is not in the inbox: %s", event.id, error)  # noqa: TRY400


def _lifecycle_of(row: InstanceRow, first: Sequence[LogRow]) -> Told:
    payload = first[0].payload if first else None
    begun = {} if payload is None else msgspec.json.decode(payload)
    return Told(
        instance_id=row.id,
        workflow_id=row.definition_id,
        version=row.definition_version,
        correlation_id=row.correlation_id,
        output=row.output,
        cancellation=row.cancellation,
        chain=int(begun.get("chain", 0)),
        origin=begun.get("origin") or row.root_id or row.id,
        tenant=row.tenant,
    )
