"""Cron expressions in words: `every working day at 09:00 Europe/Berlin`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tenuto.calendars.calendar import DAY_NAMES, MONTH_NAMES
from tenuto.schedules.cron import Cron
from tenuto.schedules.cron_fields import CronField
from tenuto.schedules.schedule import OnNonWorking, Recurring

_MOST_TIMES = 6
"""So many times of a day are listed one by one."""
_AT_OTHER_TIMES = {
    "skip": ", if that is working time",
    "next": ", else at the next working moment",
    "previous": ", else at the end of the last working hours",
}


def in_words(
    timing: Recurring, *, has_calendar: bool = False, on_non_working: OnNonWorking = "skip"
) -> str:
    """When something fires, for people."""
    times, days = _times(timing.cron), _days(timing.cron)
    is_often, is_daily = times.startswith("every"), days == "every day"
    at_other_times = _AT_OTHER_TIMES[on_non_working] if has_calendar else ""
    if is_daily and has_calendar and on_non_working == "skip":
        at_other_times = " in working time" if is_often else ""
        days = "every working day"
    if is_often:
        text = times if is_daily else f"{times}, {days}"
        return f"{text} {timing.timezone}{at_other_times}"
    text = f"{days} at {times}"
    return f"{text} {timing.timezone}{at_other_times}"


def _times(cron: Cron) -> str:
    hours, minutes, seconds = cron.hour.values, cron.minute.values, cron.second.values
    if cron.hour.is_any or len(hours) == 24:
        return _within_hour(cron)
    if len(hours) * len(minutes) * len(seconds) <= _MOST_TIMES:
        return _listed(
            _clock(hour, minute, second, shows_seconds=seconds != (0,))
            for hour in hours
            for minute in minutes
            for second in seconds
        )
    if minutes == (0,) and seconds == (0,) and (step := _step(cron.hour, 24)):
        return f"every {step} hours"
    return f"{_within_hour(cron)} {_of_hours(hours)}"


def _within_hour(cron: Cron) -> str:
    minutes, seconds = cron.minute.values, cron.second.values
    if seconds == (0,):
        if len(minutes) == 60:
            return "every minute"
        if minutes == (0,):
            return "every hour"
        if step := _step(cron.minute, 60):
            return f"every {step} minutes"
        return f"every hour at {_plural('minute', minutes)} {_listed(map(str, minutes))}"
    if len(seconds) == 60:
        each = "every second"
    elif step := _step(cron.second, 60):
        each = f"every {step} seconds"
    else:
        each = f"every minute at {_plural('second', seconds)} {_listed(map(str, seconds))}"
    if len(minutes) == 60:
        return each
    return f"{each} of {_plural('minute', minutes)} {_runs(minutes)}"


def _of_hours(hours: Sequence[int]) -> str:
    is_run = len(hours) > 1 and hours[-1] - hours[0] == len(hours) - 1
    if is_run:
        return f"from {hours[0]:02}:00 to {hours[-1]:02}:59"
    return f"in {_plural('hour', hours)} {_runs(hours)}"


def _days(cron: Cron) -> str:
    by_month = None if cron.day.is_any else _day_of_month(cron.day)
    by_week = None if cron.weekday.is_any else _day_of_week(cron.weekday)
    if by_month and by_week:
        text = f"{by_month} {'and' if cron.needs_both_days else 'or'} {by_week}"
    else:
        text = by_month or by_week or "every day"
    if len(cron.month.values) < 12:
        text += f" in {_listed(MONTH_NAMES[month - 1] for month in cron.month.values)}"
    return text


def _day_of_month(field: CronField) -> str:
    if step := _star_step(field):
        return f"every {_ordinal(step)} day of the month from the 1st"
    found = [f"the {_ordinal(day)}" for day in field.values]
    found += [
        "the last day" if not before else f"{before} days before the last day"
        for before in field.last
    ]
    found += [f"the weekday nearest to the {_ordinal(day)}" for day in field.nearest]
    if field.is_last_weekday:
        found.append("the last weekday")
    return f"on {_listed(found)} of the month"


def _day_of_week(field: CronField) -> str:
    values = field.values
    special = [f"the {_ordinal(number)} {_weekday(day)}" for day, number in field.nth]
    special += [f"the last {_weekday(day)}" for day in field.last]
    found = []
    if values == (1, 2, 3, 4, 5):
        found.append("every weekday from Monday to Friday")
    elif values == (0, 6):
        found.append("every Saturday and Sunday")
    elif values:
        # A week begins on Monday.
        ordered = sorted(values, key=lambda day: (day - 1) % 7)
        found.append(f"every {_listed(_weekday(day) for day in ordered)}")
    if special:
        found.append(f"on {_listed(special)} of the month")
    return _listed(found)


def _weekday(day: int) -> str:
    return DAY_NAMES[(day - 1) % 7]


def _step(field: CronField, size: int) -> int | None:
    """The step of values that go on evenly from 0 and over the end."""
    values = field.values
    step = size // len(values)
    is_even = len(values) > 1 and values == tuple(range(0, size, step)) and size % step == 0
    return step if is_even else None


def _star_step(field: CronField) -> int | None:
    star, slash, step = field.text.partition("/")
    return int(step) if star == "*" and slash else None


def _ordinal(number: int) -> str:
    ending = (
        "th" if 11 <= number % 100 <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"


def _clock(hour: int, minute: int, second: int, *, shows_seconds: bool) -> str:
    text = f"{hour:02}:{minute:02}"
    return f"{text}:{second:02}" if shows_seconds else text


def _runs(values: Sequence[int]) -> str:
    """`0-5, 9 and 20-22`."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return _listed(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _plural(word: str, values: Sequence[int]) -> str:
    return word if len(values) == 1 else f"{word}s"
