"""The events of one tenant: published, and looked up in the inbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple, TypeAlias

import msgspec

from tenuto.engine.events.event_intake import EventIntake
from tenuto.engine.events.event_views import event_view, near_view, targets_view
from tenuto.engine.events.inspector import DryRun
from tenuto.events import GivenEvent, given_id_problems, id_problems, name_problems
from tenuto.model.checks import aware, refuse_bad_ids
from tenuto.model.durations import epoch_ms, from_epoch_ms, iso
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.model.json import Given, Object, as_json, size_of
from tenuto.model.test_run import is_test_run
from tenuto.store.parts.inbox import EventPlace, InboxEvent
from tenuto.store.parts.turns import EventResult
from tenuto.workspace.cursors import Milliseconds, Number, read_cursor, write_cursor
from tenuto.workspace.event_hints import KnownPatterns
from tenuto.workspace.portions import in_portions
from tenuto.workspace.source import Source
from tenuto.workspace.values import Published

_DAY = timedelta(hours=24)
_MOST_HINTED = 10
"""So many events of a document have hints at most."""

Deliver: TypeAlias = Callable[[Event], Awaitable[EventResult]]


class _Place(NamedTuple):
    """The last event of a page that begins with the newest."""

    at_ms: Milliseconds
    number: Number
    since_ms: Milliseconds
    """Where the list ends: fixed when its first page was read."""


class Events:
    """The inbox of one tenant, or of one test run."""

    __slots__ = ("_deliver", "_intake", "_source", "_tenant")

    def __init__(self, source: Source, tenant: str, deliver: Deliver | None = None) -> None:
        """`deliver` stores an event and matches it; without it there are only dry runs."""
        self._source = source
        self._tenant = tenant
        self._deliver = deliver
        self._intake = EventIntake(source.clock, source.ids, source.settings.limits, tenant)

    async def publish(
        self,
        pattern: str,
        payload: Given = None,
        *,
        id: str | None = None,
        correlation_id: str | None = None,
        timestamp: datetime | None = None,
        dry_run: bool = False,
    ) -> Published:
        """Publish an event; when this returns it is durable and its targets are recorded."""
        refuse_bad_ids(id=id, correlationId=correlation_id)
        given = GivenEvent(
            pattern=pattern,
            payload=as_json(payload),
            id=id,
            correlation_id=correlation_id,
            timestamp=aware(timestamp, "timestamp"),
        )
        wrong = [
            *name_problems(pattern, "$.pattern"),
            *given_id_problems(id, "$.id"),
            *id_problems(correlation_id, "$.correlationId"),
        ]
        check = partial(self._intake.checked, given, problems=wrong)
        await self._source.plans.values.check(given.payload, check, tenant=self._tenant)
        published = await self._publish(given, dry_run=dry_run)
        if published.is_dry:
            (published,) = await self._hinted([(given.pattern, published)])
        return published

    async def publish_given(self, given: GivenEvent, *, dry_run: bool = False) -> Published:
        """Publish an event that was read from a request."""
        check = partial(self._intake.checked, given)
        await self._source.plans.values.check(given.payload, check, tenant=self._tenant)
        published = await self._publish(given, dry_run=dry_run)
        if published.is_dry:
            (published,) = await self._hinted([(given.pattern, published)])
        return published

    async def publish_all(
        self, document: Given, *, dry_run: bool = False
    ) -> list[Published | TenutoError]:
        """Publish the events of a document: one, or an array of up to 1,000; a result each."""
        given = as_json(document)
        check = partial(self._intake.checked_all, given)
        checked = await self._source.plans.values.check(given, check, tenant=self._tenant)
        results = await asyncio.gather(
            *(self._publish_if_fit(each, dry_run=dry_run) for each in checked)
        )
        dry = {
            index: (each.pattern, result)
            for index, (each, result) in enumerate(zip(checked, results, strict=True))
            if index < _MOST_HINTED and isinstance(each, GivenEvent)
            if isinstance(result, Published) and result.is_dry
        }
        for index, result in zip(dry, await self._hinted([*dry.values()]), strict=True):
            results[index] = result
        return results

    async def get(self, id: str) -> Object:
        """An event with its deliveries and near misses; NotFound."""
        return event_view(await self._source.inspector.event(self._tenant, id))

    async def list(
        self, *, pattern: str | None = None, since: datetime | None = None, limit: int = 100
    ) -> list[Object]:
        """Events, newest first; without `since` those of the last 24 hours."""
        since = aware(since, "since") or self._source.clock.now() - _DAY
        seen = self._source.store.seen_by(self._tenant)
        found = await seen.inbox.latest(self._tenant, pattern, since, limit=limit)
        return [inbox_view(each.event) for each in found]

    async def latest(
        self,
        *,
        pattern: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> tuple[Sequence[Event], str | None]:
        """A page of events, newest first, and its cursor; large payloads end it early."""
        start = aware(since, "since") or self._source.clock.now() - _DAY
        below, place = None, read_cursor(cursor, _Place)
        if place is not None:
            below = EventPlace(from_epoch_ms(place.at_ms), place.number)
            start = from_epoch_ms(place.since_ms)
        inbox = self._source.store.seen_by(self._tenant).inbox

        def end_of(found: Sequence[InboxEvent]) -> EventPlace:
            last = found[-1]
            lowest = min(each.number for each in found)
            return EventPlace(last.event.received_at, last.number if pattern is None else lowest)

        async def read(count: int, before: Sequence[InboxEvent]) -> Sequence[InboxEvent]:
            at = end_of(before) if before else below
            return await inbox.latest(self._tenant, pattern, start, limit=count, below=at)

        found, has_more = await in_portions(limit, read, lambda each: size_of(each.event.payload))
        next_cursor = None
        if has_more:
            end = end_of(found)
            next_cursor = write_cursor(
                _Place(epoch_ms(end.received_at), end.number, epoch_ms(start))
            )
        return [each.event for each in found], next_cursor

    async def _publish_if_fit(
        self, checked: GivenEvent | TenutoError, *, dry_run: bool
    ) -> Published | TenutoError:
        if isinstance(checked, TenutoError):
            return checked
        try:
            return await self._publish(checked, dry_run=dry_run)
        except TenutoError as error:
            if dry_run and isinstance(error, StoreUnavailable):
                # Nothing was published, so that there is nothing to tell of the others.
                raise
            return error

    async def _hinted(self, dry: Sequence[tuple[str, Published]]) -> Sequence[Published]:
        """Results of dry runs, with a hint at those whose event nothing could take."""
        results = [result for _, result in dry]
        if is_test_run(self._tenant) or not any(map(_is_idle, results)):
            return results
        known = await KnownPatterns.of(self._source, self._tenant)
        return [
            msgspec.structs.replace(each, hint=known.hint(pattern)) if _is_idle(each) else each
            for pattern, each in dry
        ]

    async def _publish(self, given: GivenEvent, *, dry_run: bool) -> Published:
        event = self._intake.received(given)
        if dry_run or self._deliver is None:
            return _dry_published(event, await self._source.inspector.dry_run(event))
        return _published(event, await self._deliver(event))


def _is_idle(published: Published) -> bool:
    """Whether the event would reach nothing, not even nearly."""
    reached = published.resumed or published.cancelled or published.started
    return not (published.duplicate or reached or published.targets or published.near_misses)


def _dry_published(event: Event, found: DryRun) -> Published:
    """What would become of an event."""
    return msgspec.structs.replace(
        _published(event, found.result),
        is_dry=True,
        targets=tuple(targets_view(found.targets)),
        near_misses=tuple(near_view(found.near)),
    )


def inbox_view(event: Event) -> Object:
    """An event of the inbox in JSON, as lists show it."""
    return {
        "eventId": event.id,
        "pattern": event.pattern,
        "payload": event.payload,
        "correlationId": event.correlation_id,
        "timestamp": iso(event.timestamp) if event.timestamp else None,
        "receivedAt": iso(event.received_at),
    }


def _published(event: Event, result: EventResult) -> Published:
    return Published(
        event_id=event.id,
        duplicate=result.outcome == "duplicate",
        resumed=result.resumed,
        cancelled=result.cancelled,
        started=result.started,
    )
