"""Operations on events: publish, list, get."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Literal

from msgspec import UNSET, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, JSON_MEDIA, Resource
from tenuto.api.paging import Limit, Page
from tenuto.api.problems import ErrorItem, error_item
from tenuto.api.request_parser import read_json, refuse_media
from tenuto.api.shapes import Answer, Moment, Query, items_in, shaped
from tenuto.events import GivenEvent
from tenuto.events.cloud_events import BATCH, STRUCTURED, is_binary, read_binary
from tenuto.model.errors import InvalidInput, TenutoError
from tenuto.model.events import Event
from tenuto.model.json import JSON, Object, size_of
from tenuto.store.parts.inbox import PastEvents
from tenuto.workspace import audit_values
from tenuto.workspace.cursors import Number, read_cursor, write_cursor
from tenuto.workspace.portions import Portions
from tenuto.workspace.values import Published

EVENTS = Resource(
    f"{API}/events", tag="events", read=Permission.EVENTS_READ, write=Permission.EVENTS_PUBLISH
)
MEDIA = (*JSON_MEDIA, STRUCTURED, BATCH)
_A_DAY = timedelta(days=1)


class PublishQuery(Query):
    """Whether to publish, or only to match."""

    dry_run: bool = False
    """Only list the waits and triggers that it would match: nothing is stored."""


class EventResult(Answer):
    """The result of publishing an event; in a batch `error` says why one was refused."""

    event_id: str | UnsetType = UNSET
    duplicate: bool | UnsetType = UNSET
    resumed: int | UnsetType = UNSET
    cancelled: int | UnsetType = UNSET
    started: int | UnsetType = UNSET
    targets: tuple[dict[str, JSON], ...] | UnsetType = UNSET
    near_misses: tuple[dict[str, JSON], ...] | UnsetType = UNSET
    hint: str | UnsetType = UNSET
    """Of a dry run: the nearest names, where no definition or listener names the event."""
    error: ErrorItem | UnsetType = UNSET


class EventAnswer(EventResult):
    """The result of publishing an event; of an array of events `results` alone."""

    results: list[EventResult] | UnsetType = UNSET
    """A result each, in the order of the events."""


class EventsQuery(Query):
    """Which events of the inbox."""

    pattern: str | None = None
    """The name of an event."""
    since: Moment | None = None
    """Received since this time; without it, within the last 24 hours."""
    order: Literal["asc", "desc"] = "asc"
    """`desc` begins with the newest."""
    limit: Limit = 100
    cursor: str | None = None


class EventItem(Answer):
    """An event of the inbox."""

    event_id: str
    pattern: str
    payload: JSON
    correlation_id: str | None
    timestamp: str | None
    received_at: str


class EventView(EventItem):
    """An event, its deliveries, and its near misses."""

    matched: bool
    resumed: int
    cancelled: int
    started: int
    deliveries: list[dict[str, JSON]]
    near_misses: list[dict[str, JSON]]


@EVENTS.post(
    request=JSON, other_statuses=(409,), size="batch", media=MEDIA, is_raw=True, is_frequent=True
)
async def publish_events(call: Call[PublishQuery]) -> EventAnswer:
    """Publish an event, or up to 1,000; in Tenuto's own form or as CloudEvents."""
    dry_run = call.query.dry_run
    if is_binary(call.headers):
        reading = await call.read(partial(read_binary, call.headers, call.body, read_json))
        if not isinstance(reading, GivenEvent):
            raise InvalidInput("the event cannot be taken", reading)
        published = await call.workspace.inbox.publish_given(reading, dry_run=dry_run)
        call.after = audit_values.events([published])
        return shaped(EventAnswer, _answer(published), results=UNSET)
    refuse_media(call.headers.get("content-type"), MEDIA)
    document = await call.json()
    call.service.count_request(call.principal, items_in(document) - 1)
    results = await call.workspace.publish_all(document, dry_run=dry_run)
    call.after = audit_values.events(results)
    return published_answer(results, is_batch=isinstance(document, list))


def published_answer(results: list[Published | TenutoError], *, is_batch: bool) -> EventAnswer:
    """The results of a batch, or the result of a single event."""
    if is_batch:
        return EventAnswer(results=[_result(each) for each in results])
    (result,) = results
    if isinstance(result, TenutoError):
        raise result
    return shaped(EventAnswer, _answer(result), results=UNSET)


@EVENTS.get()
async def list_events(call: Call[EventsQuery]) -> Page[EventItem]:
    """List events of the inbox."""
    asked, workspace = call.query, call.workspace
    seen = workspace.engine.store.seen_by(workspace.tenant)
    since = asked.since or call.service.clock.now() - _A_DAY
    if asked.order == "desc":
        latest, cursor = await workspace.inbox.latest(
            pattern=asked.pattern, since=since, limit=asked.limit, cursor=asked.cursor
        )
        return Page(items=list(map(_item, latest)), next_cursor=cursor)
    after = read_cursor(asked.cursor, Number) or 0
    past = PastEvents(tenant=workspace.tenant, pattern=asked.pattern, since=since)
    found: list[Event] = []
    portions, is_last = Portions(), False
    while (wanted := portions.next(asked.limit, len(found))) and not is_last:
        page = await seen.inbox.past(past, after=after, limit=wanted)
        found += [event for _, event in page.items]
        portions.add(_size(event) for _, event in page.items)
        after, is_last = page.after, page.is_last
    return Page(items=list(map(_item, found)), next_cursor=None if is_last else write_cursor(after))


@EVENTS.get("/{id:path}", response=EventView)
async def get_event(call: Call[NoQuery]) -> Object:
    """Get an event: the instances that it woke, cancelled and started, and its near misses."""
    return await call.workspace.event(call.path["id"])


def _size(event: Event) -> int:
    return size_of(event.payload)


def _result(result: Published | TenutoError) -> EventResult:
    return (
        EventResult(error=error_item(result))
        if isinstance(result, TenutoError)
        else _answer(result)
    )


def _answer(published: Published) -> EventResult:
    return EventResult(
        event_id=published.event_id,
        duplicate=published.duplicate,
        resumed=published.resumed,
        cancelled=published.cancelled,
        started=published.started,
        targets=published.targets if published.is_dry else UNSET,
        near_misses=published.near_misses if published.is_dry else UNSET,
        hint=UNSET if published.hint is None else published.hint,
    )


def _item(event: Event) -> EventItem:
    return shaped(EventItem, event, event_id=event.id)
