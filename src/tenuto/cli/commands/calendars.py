"""`tenuto calendars`: its commands and options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli import completion
from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import (
    Cursor,
    Limit,
    ListOutput,
    Output,
    Reason,
    Store,
    perform_on,
)

if TYPE_CHECKING:
    from datetime import datetime

    from tenuto.cli.backends.backend import Backend

calendars = typer.Typer(
    name="calendars",
    help="Business calendars: working hours, holidays and dates.",
    no_args_is_help=True,
)

CalendarId = Annotated[
    str,
    typer.Argument(metavar="ID", help="As `list` shows it.", autocompletion=completion.calendars),
]


@calendars.command("list")
def list_them(
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List calendars, each with its newest version.

    tenuto calendars list -o id
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.calendars import as_json, calendars_table
        from tenuto.cli.views.pages import show_page

        page = await backend.space.calendars.page(limit=limit, cursor=cursor)
        show_page(
            page,
            output,
            table=calendars_table,
            item=as_json,
            nothing=f"no calendars in {backend.described}; to make one",
            then=[f"tenuto calendars set FILE{backend.flag}"],
        )
        return exits.DONE

    perform_on(store, work, output)


@calendars.command("show")
def show(
    id: CalendarId,
    *,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="N", min=1, help="Another version than the newest."),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Show a calendar, and what uses it.

    tenuto calendars show berlin
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.calendars import as_json, show_calendar
        from tenuto.cli.views.terminal import show_json

        part = backend.space.calendars
        found = await part.get(id, version)
        uses = await part.uses(id)
        if output == "json":
            show_json({**as_json(found), "usedBy": as_json(uses)})
        else:
            show_calendar(found, uses)
        return exits.DONE

    perform_on(store, work, output)


@calendars.command("set")
def set_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The calendar: a .json or .yaml file.")
    ],
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Save a version of a calendar, new or not; without an id it is called like its file.

    What has begun with an earlier version goes on with that one.

    tenuto calendars set berlin.yaml
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.positions import Located
        from tenuto.cli.records import read_record
        from tenuto.cli.views.calendars import as_json
        from tenuto.cli.views.terminal import show as shown, show_json
        from tenuto.model.errors import InvalidInput

        record = read_record(file)
        try:
            saved = await backend.space.calendars.save(record.document)
        except InvalidInput as error:
            raise Located(error, record.positions) from None
        if output == "json":
            show_json(as_json(saved))
        else:
            shown(f"✓ calendar {saved.id}@{saved.version}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@calendars.command("days")
def days(
    id: CalendarId,
    *,
    start: Annotated[
        str | None, typer.Option("--from", metavar="DATE", help="The first day; else today.")
    ] = None,
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="DATE", help="The last day; else 30 days after the first."),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """List the days of a calendar, with their hours and what they come from.

    tenuto calendars days berlin --from 2026-12-20 --to 2027-01-06
    """

    async def work(backend: Backend) -> int:
        from datetime import date, timedelta
        from zoneinfo import ZoneInfo

        from tenuto.cli import exits
        from tenuto.cli.moments import date_of
        from tenuto.cli.views.calendars import as_json, days_table
        from tenuto.cli.views.terminal import show as shown, show_json

        if start is None:
            first = backend.clock.now().astimezone(ZoneInfo(await _zone(backend, id))).date()
        else:
            first = date_of(start, "--from")
        month = min(timedelta(days=30), date.max - first)
        last = first + month if end is None else date_of(end, "--to")
        found = await backend.space.calendars.days(id, first, last)
        if output == "json":
            show_json({"items": [as_json(each) for each in found]})
        else:
            shown(days_table(found))
        return exits.DONE

    perform_on(store, work, output)


@calendars.command("import")
def import_(
    id: CalendarId,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An iCalendar file: .ics.")],
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Add the whole days of an iCalendar file to the dates of a calendar, as days off.

    tenuto calendars import berlin company-holidays.ics
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.sources import read_file
        from tenuto.cli.views.calendars import as_json
        from tenuto.cli.views.terminal import say, show as shown, show_json

        found = await backend.space.calendars.import_dates(id, read_file(file))
        if output == "json":
            show_json(as_json(found))
            return exits.DONE
        for each in found.imported:
            say(f"  {each['date']}  {each.get('name', '')}".rstrip())
        for left_out in found.left_out:
            say(f"  left out: {left_out}", style="yellow")
        count = len(found.imported)
        days = "1 day" if count == 1 else f"{count:,} days"
        shown(f"✓ {days} imported into {id}@{found.calendar.version}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@calendars.command("add")
def add(
    id: CalendarId,
    duration: Annotated[
        str, typer.Argument(metavar="DURATION", help="PT4H of working time, P3D working days.")
    ],
    *,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="MOMENT|DATE", help="When it begins; without it, now."),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Calculate when a duration of working time is over, and show how it was counted.

    tenuto calendars add berlin PT4H --from 2026-12-23T15:00:00Z
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.moments import moment_of
        from tenuto.cli.views.calendars import as_json, show_span
        from tenuto.cli.views.terminal import show_json

        zone = "UTC" if start is None else await _zone(backend, id)
        moment = moment_of(start, "--from", zone) or backend.clock.now()
        found = await backend.space.calendars.add(id, moment, duration)
        if output == "json":
            show_json(as_json(found))
        else:
            show_span(found)
        return exits.DONE

    perform_on(store, work, output)


@calendars.command("between")
def between(
    id: CalendarId,
    *,
    start: Annotated[
        str, typer.Option("--from", metavar="MOMENT|DATE", help="The earlier moment.")
    ],
    end: Annotated[
        str,
        typer.Option("--to", metavar="MOMENT|DATE", help="The later one; a date is included."),
    ],
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Calculate the working time between two moments, and show how it was counted.

    Dates are those of the calendar's zone.

    tenuto calendars between berlin --from 2026-12-21 --to 2026-12-31
    """

    async def work(backend: Backend) -> int:
        from typing import cast

        from tenuto.cli import exits
        from tenuto.cli.moments import end_of, moment_of
        from tenuto.cli.views.calendars import as_json, show_working_time
        from tenuto.cli.views.terminal import show_json

        zone = await _zone(backend, id)
        first, last = moment_of(start, "--from", zone), end_of(end, "--to", zone)
        part = backend.space.calendars
        found = await part.between(id, cast("datetime", first), cast("datetime", last))
        if output == "json":
            show_json(as_json(found))
        else:
            show_working_time(found)
        return exits.DONE

    perform_on(store, work, output)


@calendars.command("remove")
def remove(
    id: CalendarId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Remove a calendar that nothing uses.

    tenuto calendars remove berlin
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show as shown, show_json

        await backend.space.calendars.remove(id)
        if output == "json":
            show_json({"id": id, "removed": True})
        else:
            shown(f"✓ {id} is removed")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


async def _zone(backend: Backend, id: str) -> str:
    """The time zone of a calendar, which it may have from one that it extends; NotFound."""
    part = backend.space.calendars
    found = await part.get(id)
    while found.timezone is None and found.extends is not None:
        found = await part.get(found.extends)
    return found.timezone or "UTC"
