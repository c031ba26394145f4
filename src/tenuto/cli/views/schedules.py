"""Schedules, their ticks and previews as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, cast
from zoneinfo import ZoneInfo

from tenuto.access.shown import plain
from tenuto.cli.views.tables import cell, table_of
from tenuto.cli.views.terminal import ago, say, say_command, show
from tenuto.model.durations import iso
from tenuto.model.errors import Problem
from tenuto.model.json import Object
from tenuto.model.moments import spelled
from tenuto.workspace.schedule_values import PreviewedTick, SavedSchedule, TickRecord

if TYPE_CHECKING:
    from rich.text import Text

STYLES: Final = {"active": "green", "paused": "yellow", "completed": "dim", "error": "bold red"}
_OUTCOMES: Final = {
    "started": "green",
    "queued": "cyan",
    "skipped": "dim",
    "missed": "yellow",
    "refused": "bold red",
}


def schedules_table(found: Sequence[SavedSchedule], now: datetime) -> Text:
    """Schedules, a line each."""
    from rich.text import Text

    cells: list[list[str | Text]] = [
        [
            each.id,
            Text(each.status, STYLES[each.status]),
            "-" if each.next_execution is None else iso(each.next_execution),
            "-" if each.last_executed is None else ago(each.last_executed, now),
            target_text(each.target),
            each.in_words,
            Text(cell(each.problem or each.note or "", 80), "red" if each.problem else "yellow"),
        ]
        for each in found
    ]
    names = ("ID", "STATUS", "NEXT", "LAST", "STARTS", "WHEN", "NOTE")
    return table_of(names, cells, whole=2)


def show_schedule(found: SavedSchedule, now: datetime) -> None:
    """One schedule, with everything that is known of it."""
    from rich.text import Text

    head = Text(f"{found.id}  ")
    head.append(found.status, STYLES[found.status])
    show(head)
    lines: list[tuple[str, str | None]] = [
        ("name", found.name),
        ("when", found.in_words),
        ("cron", found.cron),
        ("starts", target_text(found.target)),
        ("from", None if found.start_date is None else iso(found.start_date)),
        ("until", None if found.end_date is None else iso(found.end_date)),
        ("next", None if found.next_execution is None else iso(found.next_execution)),
        ("last", _last(found, now)),
        ("overlap", found.overlap),
        ("catch-up", f"{found.catch_up.get('mode')} within {found.catch_up.get('window')}"),
        ("jitter", found.jitter),
        ("calendar", _calendar(found)),
        ("note", found.note),
        ("problem", found.problem),
        ("made by", _maker(found)),
        ("version", str(found.version)),
    ]
    for name, value in lines:
        if value is not None:
            show(f"  {name:<9} {value}")


def schedule_json(found: SavedSchedule) -> Object:
    """A schedule with the names of the API."""
    return cast("Object", spelled(found))


def target_text(target: Object) -> str:
    """What a schedule starts, in a few words."""
    if "workflowId" in target:
        version = f"@{target['version']}" if "version" in target else ""
        return f"{target['workflowId']}{version}"
    if "taskId" in target:
        return f"task {target['taskId']}"
    return str(target.get("callbackUrl", "")).partition("?")[0]


def preview_table(items: Sequence[PreviewedTick], zone: str) -> Text:
    """Ticks that are to come, a line each; with their local time."""
    from rich.text import Text

    cells: list[list[str | Text]] = [
        [
            iso(each.nominal),
            _local(each.nominal, zone),
            "-" if each.skipped else "" if each.at == each.nominal else iso(each.at),
            Text(each.skipped or "", "yellow"),
        ]
        for each in items
    ]
    return table_of(("NOMINAL", zone.upper(), "STARTED AT", "SKIPPED"), cells, whole=2)


def ticks_table(items: Sequence[TickRecord]) -> Text:
    """What became of ticks, a line each."""
    from rich.text import Text

    cells: list[list[str | Text]] = [
        [
            iso(each.nominal),
            Text(each.outcome, _OUTCOMES[each.outcome]),
            each.instance_id or (f"{each.count:,} until {iso(each.last)}" if each.last else "-"),
            "" if each.cause == "schedule" else each.cause,
            cell(each.reason or "", 200),
        ]
        for each in items
    ]
    return table_of(("NOMINAL", "OUTCOME", "INSTANCE", "BY", "WHY"), cells, whole=2)


def tick_json(tick: TickRecord | PreviewedTick) -> Object:
    """A tick with the names of the API."""
    return cast("Object", spelled(tick))


def _local(moment: datetime, zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(zone)):%a %d %b %Y %H:%M:%S}"


def _last(found: SavedSchedule, now: datetime) -> str | None:
    if found.last_executed is None:
        return None
    instance = "" if found.last_instance_id is None else f"  {found.last_instance_id}"
    return f"{iso(found.last_executed)}, {ago(found.last_executed, now)}{instance}"


def _calendar(found: SavedSchedule) -> str | None:
    if found.calendar is None:
        return None
    return f"{found.calendar}; outside of working time: {found.on_non_working}"


def _maker(found: SavedSchedule) -> str:
    metadata = found.metadata
    if metadata.definition is not None:
        return f"the workflow function {metadata.definition}"
    return f"{plain(metadata.created_by)} at {iso(metadata.created_at)}"


def say_problems(problems: Iterable[Problem]) -> None:
    """What is to be known of a schedule that can be saved."""
    for problem in problems:
        say(f"  {problem.code} {problem.path}: {problem.message}", style="yellow")
        say(f"    {problem.advice}")


def show_saved(saved: SavedSchedule) -> None:
    """That a schedule is saved, and when it starts something next."""
    say_problems(saved.problems)
    following = saved.next_execution
    then = "" if following is None else f"; next at {iso(following)}"
    show(f"✓ schedule {saved.id}@{saved.version}: {saved.in_words}{then}")


def show_tick(id: str, tick: TickRecord, flag: str) -> None:
    """What became of a tick that was asked for."""
    if tick.outcome == "started":
        show(f"✓ {id}: started {tick.instance_id or target_of(tick)}")
        if tick.instance_id is not None:
            say_command(f"tenuto show {tick.instance_id}{flag}")
    else:
        show(f"{'…' if tick.outcome == 'queued' else '✗'} {id}: {tick.outcome}")
        if tick.reason is not None:
            say(f"  {tick.reason}")


def target_of(tick: TickRecord) -> str:
    """The tick of a callback, which has no instance."""
    return f"the tick of {iso(tick.nominal)}"
