"""Operations on schedules: save, list, get, remove, pause, resume, trigger, backfill, preview."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tenuto.access.permissions import Permission
from tenuto.access.principal import refuse_unless
from tenuto.api.call import Call, NoQuery
from tenuto.api.entity_tags import version_to_change
from tenuto.api.named_document import named
from tenuto.api.operation import API, Resource
from tenuto.api.operations.bulk import BulkView, bulk_view
from tenuto.api.operations.calendars import IF_MATCH
from tenuto.api.operations.instance_commands import NothingMore
from tenuto.api.paging import Page, PageQuery
from tenuto.api.problems import Refusal
from tenuto.api.schedule_tickets import SCHEDULER_CALLBACK, leads_to
from tenuto.api.shapes import Answer, Body, Moment, Query
from tenuto.model.durations import iso
from tenuto.model.errors import Conflict
from tenuto.model.json import JSON
from tenuto.workspace import audit_values
from tenuto.workspace.schedule_values import (
    PreviewedTick,
    SavedSchedule,
    ScheduleFilter,
    SchedulePreview,
    ScheduleStatus,
    TickRecord,
)

SCHEDULES = Resource(
    f"{API}/schedules",
    tag="schedules",
    read=Permission.SCHEDULES_READ,
    write=Permission.SCHEDULES_WRITE,
)


class SchedulesQuery(PageQuery):
    """Which schedules."""

    status: ScheduleStatus | None = None
    workflow_id: str | None = None
    """Those that start this workflow."""
    calendar: str | None = None
    """Those that name this calendar."""


class SchedulePause(Body):
    """Why a schedule is paused."""

    note: Annotated[str, Meta(max_length=1_000)] | None = None


class ScheduleTrigger(Body):
    """Which tick is started now."""

    at: Moment | None = None
    """Its nominal time; without it, the present."""


class BackfillRequest(Body):
    """Which ticks are started that were not."""

    from_: Moment = msgspec.field(name="from")
    to: Moment
    """The nominal times, both included."""
    concurrency: Annotated[int, Meta(ge=1, le=100)] = 10
    """So many of its instances run at the same time."""
    overlap: Literal["allow", "skip", "queue", "cancel-running"] = "allow"
    """What a tick does while another instance of the schedule runs."""
    dry_run: bool = False
    """Only count them."""


class PreviewQuery(Query):
    """How many ticks, and after when."""

    count: Annotated[int, Meta(ge=1, le=200)] = 10
    from_: Moment | None = msgspec.field(default=None, name="from")
    """Nominal times after this; without it, after the present."""


class Preview(Answer):
    """The next ticks, in order."""

    items: list[PreviewedTick]


@SCHEDULES.post(status=201, other_statuses=(409,), size="value")
async def add_schedule(call: Call[NoQuery], body: JSON) -> SavedSchedule:
    """Save a new schedule; without an id it gets a free one, made of its name or target."""
    _refuse_unless_may_start(call, body)
    return _saved(call, await call.workspace.schedules.create(body), is_new=True)


@SCHEDULES.post("/preview", permission=Permission.SCHEDULES_READ, size="value", is_audited=False)
async def preview_schedule_document(call: Call[PreviewQuery], body: JSON) -> SchedulePreview:
    """Preview a schedule that is not saved: its next ticks, its words and all its problems."""
    asked = call.query
    return await call.workspace.schedules.preview_document(
        body, count=asked.count, after=asked.from_
    )


@SCHEDULES.get()
async def list_schedules(call: Call[SchedulesQuery]) -> Page[SavedSchedule]:
    """List schedules, ordered by id."""
    asked = call.query
    which = ScheduleFilter(
        status=asked.status, workflow_id=asked.workflow_id, calendar=asked.calendar
    )
    found = await call.workspace.schedules.page(which, limit=asked.limit, cursor=asked.cursor)
    return Page(items=found.items, next_cursor=found.next_cursor)


@SCHEDULES.get("/{id}")
async def get_schedule(call: Call[NoQuery]) -> SavedSchedule:
    """Get a schedule, and how it stands."""
    found = await call.workspace.schedules.get(call.path["id"])
    call.response_headers["etag"] = f'"{found.version}"'
    return found


@SCHEDULES.put("/{id}", headers=IF_MATCH, other_statuses=(201, 412), size="value")
async def put_schedule(call: Call[NoQuery], body: JSON) -> SavedSchedule:
    """Save a schedule, new or not; with If-Match only the version that it names is changed."""
    schedules, id = call.workspace.schedules, call.path["id"]
    _refuse_unless_may_start(call, body)
    before = await audit_values.schedule_before(schedules, id)
    only_after = version_to_change(call.headers, before, "TEN-3082")
    try:
        saved = await schedules.save(named(body, id, "schedule"), only_after=only_after)
    except Conflict as error:
        raise Refusal(412, error.code, error.message, error.advice) from None
    call.before = before
    return _saved(call, saved, is_new=before is None)


@SCHEDULES.delete("/{id}")
async def remove_schedule(call: Call[NoQuery]) -> None:
    """Remove a schedule; instances that it has started go on."""
    schedules, id = call.workspace.schedules, call.path["id"]
    call.before = await audit_values.schedule_before(schedules, id)
    await schedules.remove(id)


@SCHEDULES.post(
    "/{id}/pause", permission=Permission.SCHEDULES_CONTROL, may_be_empty=True, other_statuses=(409,)
)
async def pause_schedule(call: Call[NoQuery], body: SchedulePause) -> SavedSchedule:
    """Pause a schedule: its ticks are passed over until it is resumed."""
    schedules, id = call.workspace.schedules, call.path["id"]
    call.before = await audit_values.schedule_before(schedules, id)
    return _changed(call, await schedules.pause(id, body.note))


@SCHEDULES.post(
    "/{id}/resume",
    permission=Permission.SCHEDULES_CONTROL,
    may_be_empty=True,
    other_statuses=(409,),
)
async def resume_schedule(call: Call[NoQuery], _: NothingMore) -> SavedSchedule:
    """Resume a schedule after a pause, from now on."""
    schedules, id = call.workspace.schedules, call.path["id"]
    call.before = await audit_values.schedule_before(schedules, id)
    return _changed(call, await schedules.resume(id))


@SCHEDULES.post(
    "/{id}/trigger",
    permission=Permission.SCHEDULES_CONTROL,
    may_be_empty=True,
    other_statuses=(409,),
)
async def trigger_schedule(call: Call[NoQuery], body: ScheduleTrigger) -> TickRecord:
    """Start the target of a schedule now, as a tick of its own; also while it is paused."""
    tick = await call.workspace.schedules.trigger(call.path["id"], body.at)
    call.after = {
        "nominal": iso(tick.nominal),
        "outcome": tick.outcome,
        "instanceId": tick.instance_id,
    }
    return tick


@SCHEDULES.post(
    "/{id}/backfill",
    permission=Permission.SCHEDULES_CONTROL,
    status=202,
    headers=(("Idempotency-Key", "At most one backfill is begun under a key."),),
    other_statuses=(200, 409),
)
async def backfill_schedule(call: Call[NoQuery], body: BackfillRequest) -> BulkView:
    """Start the ticks of a range that were not started, with progress."""
    started = await call.workspace.schedules.backfill(
        call.path["id"],
        body.from_,
        body.to,
        concurrency=body.concurrency,
        overlap=body.overlap,
        dry_run=body.dry_run,
        key=call.headers.get("idempotency-key"),
    )
    if started.id is None:
        call.status = 200
    else:
        call.response_headers["location"] = f"{API}/instances/bulk/{started.id}"
        call.after = {
            **audit_values.bulk(started),
            "from": iso(body.from_),
            "to": iso(body.to),
            "concurrency": body.concurrency,
            "overlap": body.overlap,
        }
    return bulk_view(started)


@SCHEDULES.get("/{id}/preview")
async def preview_schedule(call: Call[PreviewQuery]) -> Preview:
    """Preview the next ticks of a schedule, with the reason for each that is skipped."""
    asked = call.query
    found = await call.workspace.schedules.preview(
        call.path["id"], count=asked.count, after=asked.from_
    )
    return Preview(items=found)


@SCHEDULES.get("/{id}/ticks")
async def list_ticks(call: Call[PageQuery]) -> Page[TickRecord]:
    """List what became of the ticks of a schedule, newest first."""
    found = await call.workspace.schedules.tick_page(
        call.path["id"], limit=call.query.limit, cursor=call.query.cursor
    )
    return Page(items=found.items, next_cursor=found.next_cursor)


def _refuse_unless_may_start(call: Call[NoQuery], document: JSON) -> None:
    """Forbidden where a principal would have started what it may not start itself."""
    given = document if isinstance(document, dict) else {}
    target = given.get("target")
    names = {*given, *target} if isinstance(target, dict) else {*given}
    if "callbackUrl" in names:
        refuse_unless(call.principal, Permission.LISTENERS_WRITE)
        urls = [each.get("callbackUrl") for each in (given, target) if isinstance(each, dict)]
        if any(isinstance(url, str) and _leads_back(call, url) for url in urls):
            # Such a callback times out steps.
            refuse_unless(call.principal, Permission.INSTANCES_CONTROL)
    elif "taskId" in names or (isinstance(target, dict) and target.get("type") == "task"):
        refuse_unless(call.principal, Permission.TASKS_EXECUTE)
    else:
        refuse_unless(call.principal, Permission.INSTANCES_START)


def _leads_back(call: Call[NoQuery], url: str) -> bool:
    return leads_to(url, call.service.url, SCHEDULER_CALLBACK)


def _saved(call: Call[NoQuery], saved: SavedSchedule, *, is_new: bool) -> SavedSchedule:
    call.status = 201 if is_new else 200
    call.response_headers["location"] = f"{API}/schedules/{saved.id}"
    return _changed(call, saved)


def _changed(call: Call[NoQuery], saved: SavedSchedule) -> SavedSchedule:
    call.response_headers["etag"] = f'"{saved.version}"'
    call.after = audit_values.schedule(saved)
    return saved
