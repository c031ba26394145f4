"""Calendars, their days and calculations as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tenuto.cli.views.tables import table_of
from tenuto.cli.views.terminal import say, show
from tenuto.model.durations import iso
from tenuto.model.json import Object
from tenuto.model.moments import spelled
from tenuto.workspace.schedule_values import (
    CalendarDay,
    CalendarUses,
    SavedCalendar,
    WorkingSpan,
)

if TYPE_CHECKING:
    from rich.text import Text

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MOST_DATES = 20


def calendars_table(found: Sequence[SavedCalendar]) -> Text:
    """Calendars, a line each."""
    cells: list[list[str | Text]] = [
        [
            each.id,
            str(each.version),
            each.timezone or "",
            each.extends or "",
            " ".join(day for day in _WEEKDAYS if each.week.get(day)),
            ", ".join(_rule(rule) for rule in each.holidays),
            str(len(each.dates)) if each.dates else "",
        ]
        for each in found
    ]
    names = ("ID", "VERSION", "ZONE", "EXTENDS", "WEEK", "HOLIDAYS", "DATES")
    return table_of(names, cells, whole=2)


def show_calendar(found: SavedCalendar, uses: CalendarUses) -> None:
    """One calendar, with its week, holidays and dates, and what uses it."""
    show(f"{found.id}@{found.version}  {found.name or ''}".rstrip())
    if found.timezone is not None:
        show(f"  zone      {found.timezone}")
    if found.extends is not None:
        show(f"  extends   {found.extends}")
    for day in _WEEKDAYS:
        if day in found.week:
            show(f"  {day}       {', '.join(found.week[day]) or 'a day off'}")
    for rule in found.holidays:
        show(f"  holidays  {_rule(rule)}")
    for own in found.dates[:_MOST_DATES]:
        hours = own.get("hours")
        shown = ", ".join(map(str, hours)) if isinstance(hours, list) and hours else "a day off"
        show(f"  {own['date']}  {shown}  {own.get('name', '')}".rstrip())
    if len(found.dates) > _MOST_DATES:
        say(f"  … and {len(found.dates) - _MOST_DATES:,} more; -o json gives all")
    for kind, ids in (
        ("schedules", uses.schedules),
        ("calendars", uses.calendars),
        ("workflows", uses.workflows),
    ):
        if ids:
            show(f"  used by   {kind} {', '.join(ids)}")


def days_table(found: Sequence[CalendarDay]) -> Text:
    """Days, a line each."""
    from rich.text import Text

    cells: list[list[str | Text]] = [
        [
            each.date.isoformat(),
            f"{each.date:%a}",
            Text(", ".join(each.hours) or "-", "green" if each.hours else "dim"),
            each.name or ("" if each.kind == "week" else each.kind),
        ]
        for each in found
    ]
    return table_of(("DATE", "DAY", "HOURS", "NAME"), cells, whole=2)


def show_span(found: WorkingSpan) -> None:
    """When working time is over, and how it was counted."""
    show(f"{iso(found.at)}")
    _say_days(found)


def show_working_time(found: WorkingSpan) -> None:
    """The working time of a span, and how it was counted."""
    show(found.working_time)
    _say_days(found)


def _say_days(found: WorkingSpan) -> None:
    days = "1 working day" if found.working_days == 1 else f"{found.working_days:,} working days"
    say(f"  {found.working_time} of working time on {days} from {iso(found.start)}")
    for each in found.days:
        say(f"  {each.date}  {each.worked if each.reason is None else each.reason}", style="dim")


def as_json(found: SavedCalendar | CalendarDay | WorkingSpan | object) -> Object:
    """A value with the names of the API."""
    return cast("Object", spelled(found))


def _rule(rule: Object) -> str:
    part = f"-{rule['subdivision']}" if "subdivision" in rule else ""
    categories = rule.get("categories")
    named = f" ({', '.join(map(str, categories))})" if isinstance(categories, list) else ""
    return f"{rule.get('country')}{part}{named}"
