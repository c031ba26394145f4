"""`tenuto schedules`: its commands and options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from tenuto.cli import completion
from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import (
    Cursor,
    DryRun,
    Limit,
    ListOutput,
    Output,
    Reason,
    RowsOutput,
    Store,
    perform_on,
)

if TYPE_CHECKING:
    from datetime import datetime

    from tenuto.cli.backends.backend import Backend
    from tenuto.cli.records import Record
    from tenuto.workspace.schedule_values import SavedSchedule, SchedulePreview

schedules = typer.Typer(
    name="schedules",
    help="Schedules: workflows, tasks and callbacks that are started at certain times.",
    no_args_is_help=True,
)

ScheduleId = Annotated[
    str,
    typer.Argument(metavar="ID", help="As `list` shows it.", autocompletion=completion.schedules),
]
Count = Annotated[int, typer.Option("--count", min=1, max=200, help="How many ticks.")]


@schedules.command("list")
def list_them(
    *,
    status: Annotated[
        Literal["active", "paused", "completed", "error"] | None,
        typer.Option("--status", help="All of this status."),
    ] = None,
    workflow: Annotated[
        str | None,
        typer.Option(
            "--workflow",
            metavar="ID",
            help="All that start this workflow.",
            autocompletion=completion.workflows,
        ),
    ] = None,
    calendar: Annotated[
        str | None,
        typer.Option(
            "--calendar",
            metavar="ID",
            help="All that name this calendar.",
            autocompletion=completion.calendars,
        ),
    ] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List schedules, and when each starts something next.

    tenuto schedules list --status error
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.pages import show_page
        from tenuto.cli.views.schedules import schedule_json, schedules_table
        from tenuto.workspace.schedule_values import ScheduleFilter

        which = ScheduleFilter(status=status, workflow_id=workflow, calendar=calendar)
        page = await backend.space.schedules.page(which, limit=limit, cursor=cursor)
        show_page(
            page,
            output,
            table=lambda found: schedules_table(found, backend.clock.now()),
            item=schedule_json,
            nothing=f"no {'such ' if which != ScheduleFilter() else ''}schedules in "
            f"{backend.described}; to make one",
            then=[f"tenuto schedules set FILE{backend.flag}"],
        )
        return exits.DONE

    perform_on(store, work, output)


@schedules.command("show")
def show(id: ScheduleId, *, store: Store = STORE, output: Output = "table") -> None:
    """Show a schedule, and how it stands.

    tenuto schedules show nightly
    """
    _show(store, output, lambda backend: backend.space.schedules.get(id))


@schedules.command("set")
def set_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The schedule: a .json or .yaml file.")
    ],
    *,
    dry_run: DryRun = False,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Save a schedule, new or not; without an id it is called like its file.

    tenuto schedules set nightly.yaml --dry-run
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.positions import Located
        from tenuto.cli.records import read_record
        from tenuto.cli.views.schedules import schedule_json, show_saved
        from tenuto.cli.views.terminal import show_json
        from tenuto.model.errors import InvalidInput

        record = read_record(file)
        part = backend.space.schedules
        if dry_run:
            return await _foresee(backend, record, output)
        try:
            saved = await part.save(record.document)
        except InvalidInput as error:
            raise Located(error, record.positions) from None
        if output == "json":
            show_json(schedule_json(saved))
        else:
            show_saved(saved)
        return exits.DONE

    perform_on(store, work, output, reason=reason)


async def _foresee(backend: Backend, record: Record, output: str) -> int:
    from tenuto.cli import exits
    from tenuto.cli.views.calendars import as_json
    from tenuto.cli.views.schedules import preview_table, say_problems
    from tenuto.cli.views.terminal import say, show as shown, show_json

    found = await _previewed(backend, record)
    if output == "json":
        show_json(as_json(found))
        return exits.DONE
    say_problems(found.problems)
    say(f"{found.in_words}; nothing is saved")
    shown(preview_table(found.items, record.zone))
    return exits.DONE


async def _previewed(
    backend: Backend, record: Record, *, count: int = 10, after: datetime | None = None
) -> SchedulePreview:
    """The next ticks of a file's schedule; Located where it cannot be saved."""
    from tenuto.cli.positions import Located
    from tenuto.model.errors import InvalidInput

    part = backend.space.schedules
    found = await part.preview_document(record.document, count=count, after=after)
    if not found.valid:
        error = InvalidInput("the schedule cannot be saved", list(found.problems))
        raise Located(error, record.positions)
    return found


@schedules.command("pause")
def pause(
    id: ScheduleId,
    *,
    note: Annotated[str | None, typer.Option("--note", help="Why, for those who see it.")] = None,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Pause a schedule: its ticks are passed over until it is resumed.

    tenuto schedules pause nightly --note "the warehouse is moving"
    """

    async def change(backend: Backend) -> SavedSchedule:
        return await backend.space.schedules.pause(id, note)

    _change(store, output, "paused", change, reason)


@schedules.command("resume")
def resume(
    id: ScheduleId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Resume a schedule after a pause, from now on.

    tenuto schedules resume nightly
    """

    async def change(backend: Backend) -> SavedSchedule:
        return await backend.space.schedules.resume(id)

    _change(store, output, "active again", change, reason)


@schedules.command("trigger")
def trigger(
    id: ScheduleId,
    *,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="MOMENT|DATE", help="The nominal time; without it, now."),
    ] = None,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Start what a schedule starts now, also while it is paused.

    tenuto schedules trigger nightly
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.moments import moment_of
        from tenuto.cli.views.schedules import show_tick, tick_json
        from tenuto.cli.views.terminal import show_json

        part = backend.space.schedules
        zone = None if at is None else (await part.get(id)).timezone
        tick = await part.trigger(id, moment_of(at, "--at", zone or "UTC"))
        if output == "json":
            show_json(tick_json(tick))
        else:
            show_tick(id, tick, backend.flag)
        is_refused = tick.outcome in ("refused", "skipped", "missed")
        return exits.REFUSED if is_refused else exits.DONE

    perform_on(store, work, output, reason=reason)


@schedules.command("backfill")
def backfill(  # noqa: PLR0913 - one for each option
    id: ScheduleId,
    *,
    start: Annotated[
        str, typer.Option("--from", metavar="MOMENT|DATE", help="The first nominal time.")
    ],
    end: Annotated[
        str, typer.Option("--to", metavar="MOMENT|DATE", help="The last one; a date is included.")
    ],
    concurrency: Annotated[
        int,
        typer.Option(
            "--concurrency", min=1, max=100, help="So many of its instances run at the same time."
        ),
    ] = 10,
    overlap: Annotated[
        Literal["allow", "skip", "queue", "cancel-running"],
        typer.Option("--overlap", help="While another instance of the schedule runs."),
    ] = "allow",
    dry_run: DryRun = False,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Start the ticks of a range that were not started, each once.

    It goes on in the background: `tenuto bulk show` shows how far it is. Dates are those of the
    schedule's zone.

    tenuto schedules backfill nightly --from 2026-11-01 --to 2026-11-14 --concurrency 2
    """

    async def work(backend: Backend) -> int:
        from typing import cast

        from tenuto.cli import exits
        from tenuto.cli.moments import end_of, moment_of
        from tenuto.cli.views.bulk import operation_json, show_operation
        from tenuto.cli.views.terminal import say_command, show as shown, show_json

        part = backend.space.schedules
        zone = (await part.get(id)).timezone or "UTC"
        first, last = moment_of(start, "--from", zone), end_of(end, "--to", zone)
        found = await part.backfill(
            id,
            cast("datetime", first),
            cast("datetime", last),
            concurrency=concurrency,
            overlap=overlap,
            dry_run=dry_run,
        )
        if output == "json":
            show_json(operation_json(found))
        elif found.id is None:
            ticks = "1 tick" if found.matched == 1 else f"{found.matched:,} ticks"
            shown(f"{ticks} in this range; those that were started already stay as they are")
        else:
            show_operation(found, is_json=False)
            if found.status == "running":
                say_command(f"tenuto bulk show {found.id}{backend.flag}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@schedules.command("preview")
def preview(
    id_or_file: Annotated[
        str,
        typer.Argument(metavar="ID|FILE", help="A saved schedule, or the file of one that is not."),
    ],
    *,
    count: Count = 10,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="MOMENT|DATE", help="Ticks after this; without it, now."),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Show the next ticks of a schedule, and why some are skipped.

    tenuto schedules preview nightly --count 5
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.moments import moment_of
        from tenuto.cli.records import read_record
        from tenuto.cli.views.schedules import preview_table, say_problems, tick_json
        from tenuto.cli.views.terminal import say, show as shown, show_json

        part = backend.space.schedules
        words: str | None
        if Path(id_or_file).suffix in (".json", ".yaml", ".yml"):
            record = read_record(Path(id_or_file))
            zone = record.zone
            after = moment_of(start, "--from", zone)
            found = await _previewed(backend, record, count=count, after=after)
            items, words = found.items, found.in_words
            say_problems(found.problems)
        else:
            saved = await part.get(id_or_file)
            zone, words = saved.timezone or "UTC", saved.in_words
            after = moment_of(start, "--from", zone)
            items = await part.preview(id_or_file, count=count, after=after)
        if output == "json":
            show_json({"items": [tick_json(each) for each in items], "inWords": words})
        elif not items:
            say("nothing is to come")
        else:
            say(words or "")
            shown(preview_table(items, zone))
        return exits.DONE

    perform_on(store, work, output)


@schedules.command("ticks")
def ticks(
    id: ScheduleId,
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: RowsOutput = "table",
) -> None:
    """Show what became of the ticks of a schedule, newest first.

    tenuto schedules ticks nightly
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.pages import show_page
        from tenuto.cli.views.schedules import tick_json, ticks_table

        page = await backend.space.schedules.tick_page(id, limit=limit, cursor=cursor)
        show_page(
            page,
            output,
            table=ticks_table,
            item=tick_json,
            nothing=f"no ticks of {id} yet; to see those that are to come, or to start one now",
            then=[
                f"tenuto schedules preview {id}{backend.flag}",
                f"tenuto schedules trigger {id}{backend.flag}",
            ],
        )
        return exits.DONE

    perform_on(store, work, output)


@schedules.command("remove")
def remove(
    id: ScheduleId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Remove a schedule and what is known of its ticks; instances that it has started go on.

    tenuto schedules remove nightly
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show as shown, show_json

        await backend.space.schedules.remove(id)
        if output == "json":
            show_json({"id": id, "removed": True})
        else:
            shown(f"✓ {id} is removed; instances that it has started go on")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


def _change(
    store: str,
    output: str,
    done: str,
    change: Callable[[Backend], Awaitable[SavedSchedule]],
    reason: str | None,
) -> NoReturn:
    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.schedules import schedule_json
        from tenuto.cli.views.terminal import show as shown, show_json
        from tenuto.model.durations import iso

        saved = await change(backend)
        following = saved.next_execution
        if output == "json":
            show_json(schedule_json(saved))
        else:
            then = "" if following is None else f"; next at {iso(following)}"
            shown(f"✓ {saved.id} is {done}{then}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


def _show(store: str, output: str, find: Callable[[Backend], Awaitable[SavedSchedule]]) -> NoReturn:
    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.schedules import schedule_json, show_schedule
        from tenuto.cli.views.terminal import show_json

        found = await find(backend)
        if output == "json":
            show_json(schedule_json(found))
        else:
            show_schedule(found, backend.clock.now())
        return exits.DONE

    perform_on(store, work, output)
