"""Operations on business calendars: save, list, get, remove, days, import, and a calculator."""

from __future__ import annotations

from datetime import date
from typing import Literal

import msgspec
from msgspec.structs import replace

from tenuto.access.permissions import Permission
from tenuto.access.principal import refuse_unless
from tenuto.api.call import Call, NoQuery
from tenuto.api.entity_tags import version_to_change
from tenuto.api.named_document import named
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Page, PageQuery
from tenuto.api.problems import Refusal
from tenuto.api.request_parser import refuse_media
from tenuto.api.shapes import Answer, Body, Moment, Query, Version
from tenuto.model.errors import Conflict
from tenuto.model.json import JSON
from tenuto.workspace import audit_values
from tenuto.workspace.schedule_values import (
    CalendarDay,
    ImportedDates,
    SavedCalendar,
    WorkingSpan,
)

CALENDARS = Resource(
    f"{API}/calendars",
    tag="calendars",
    read=Permission.SCHEDULES_READ,
    write=Permission.SCHEDULES_WRITE,
)
IF_MATCH = (("If-Match", 'The version that was changed, such as "3"; `*`: any.'),)


class CalendarQuery(Query):
    """Which version; without it the newest."""

    version: Version | None = None
    include: Literal["uses"] | None = None
    """`uses`: also the schedules, calendars and workflows that name it."""


class DaysQuery(Query):
    """Which days, both included; up to ten years."""

    from_: date = msgspec.field(name="from")
    to: date


class Days(Answer):
    """Days of a calendar, in order."""

    items: list[CalendarDay]


class AddRequest(Body):
    """A moment and a duration of working time."""

    from_: Moment = msgspec.field(name="from")
    duration: str | int
    """`PT4H` counts working time, `P3D` working days; a number is milliseconds."""


class BetweenRequest(Body):
    """Two moments."""

    from_: Moment = msgspec.field(name="from")
    to: Moment


@CALENDARS.post(status=201, other_statuses=(409,), size="value")
async def add_calendar(call: Call[NoQuery], body: JSON) -> SavedCalendar:
    """Save a new calendar; without an id it gets a free one, made of its name."""
    return _answer(call, await call.workspace.calendars.create(body), is_new=True)


@CALENDARS.get()
async def list_calendars(call: Call[PageQuery]) -> Page[SavedCalendar]:
    """List calendars, each with its newest version, ordered by id."""
    found = await call.workspace.calendars.page(limit=call.query.limit, cursor=call.query.cursor)
    return Page(items=found.items, next_cursor=found.next_cursor)


@CALENDARS.get(
    "/{id}",
    headers=(("If-None-Match", 'The version that you have, such as "3": 304.'),),
    other_statuses=(304,),
)
async def get_calendar(call: Call[CalendarQuery]) -> SavedCalendar:
    """Get a calendar: its newest version, or another."""
    calendars, id = call.workspace.calendars, call.path["id"]
    if call.query.include == "uses":
        refuse_unless(call.principal, Permission.WORKFLOWS_READ)
    found = await calendars.get(id, call.query.version)
    if call.query.include == "uses":
        return replace(found, used_by=await calendars.uses(id))
    call.response_headers["etag"] = f'"{found.version}"'
    return found


@CALENDARS.put("/{id}", headers=IF_MATCH, other_statuses=(201, 412), size="value")
async def put_calendar(call: Call[NoQuery], body: JSON) -> SavedCalendar:
    """Save a version of a calendar, new or not; with If-Match only after the one it names."""
    calendars, id = call.workspace.calendars, call.path["id"]
    before = await audit_values.calendar_before(calendars, id)
    only_after = version_to_change(call.headers, before, "TEN-3085")
    try:
        saved = await calendars.save(named(body, id, "calendar"), only_after=only_after)
    except Conflict as error:
        raise Refusal(412, error.code, error.message, error.advice) from None
    call.before = before
    return _answer(call, saved, is_new=before is None)


@CALENDARS.delete("/{id}", other_statuses=(409,))
async def remove_calendar(call: Call[NoQuery]) -> None:
    """Remove a calendar that nothing uses; what has begun with it goes on with its version."""
    calendars, id = call.workspace.calendars, call.path["id"]
    call.before = await audit_values.calendar_before(calendars, id)
    await calendars.remove(id)


@CALENDARS.get("/{id}/days")
async def list_calendar_days(call: Call[DaysQuery]) -> Days:
    """List the days of a calendar: the hours of each, and what they come from."""
    asked = call.query
    return Days(items=await call.workspace.calendars.days(call.path["id"], asked.from_, asked.to))


@CALENDARS.post("/{id}/import", request=str, size="batch", media=("text/calendar",), is_raw=True)
async def import_calendar_dates(call: Call[NoQuery]) -> ImportedDates:
    """Add the whole days of an iCalendar file to the dates of a calendar, as days off."""
    refuse_media(call.headers.get("content-type"), ("text/calendar",))
    calendars, id = call.workspace.calendars, call.path["id"]
    call.before = await audit_values.calendar_before(calendars, id)
    found = await calendars.import_dates(id, call.body)
    call.after = {
        **audit_values.calendar(found.calendar),
        "imported": len(found.imported),
        "leftOut": len(found.left_out),
    }
    call.response_headers["etag"] = f'"{found.calendar.version}"'
    return found


@CALENDARS.post("/{id}/add", permission=Permission.SCHEDULES_READ, is_audited=False)
async def add_working_time(call: Call[NoQuery], body: AddRequest) -> WorkingSpan:
    """Calculate when a duration of working time is over that begins at a moment."""
    return await call.workspace.calendars.add(call.path["id"], body.from_, body.duration)


@CALENDARS.post("/{id}/between", permission=Permission.SCHEDULES_READ, is_audited=False)
async def get_working_time(call: Call[NoQuery], body: BetweenRequest) -> WorkingSpan:
    """Calculate the working time between two moments."""
    return await call.workspace.calendars.between(call.path["id"], body.from_, body.to)


def _answer(call: Call[NoQuery], saved: SavedCalendar, *, is_new: bool) -> SavedCalendar:
    call.status = 201 if is_new else 200
    call.response_headers["etag"] = f'"{saved.version}"'
    call.response_headers["location"] = f"{API}/calendars/{saved.id}"
    call.after = audit_values.calendar(saved)
    return saved
