"""How long arithmetic in working time takes, and finding what a schedule owes."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bench.report import Report
from tenuto.calendars import add, parse_working_duration
from tenuto.calendars.documents import read_calendar
from tenuto.calendars.year_table import forget_years
from tenuto.model.json import Object
from tenuto.schedules import due
from tenuto.schedules.documents import read_schedule

NOW = datetime(2026, 11, 17, 10, 0, tzinfo=UTC)
OFFICE: Object = {
    "id": "office",
    "timezone": "Europe/Berlin",
    "week": {day: ["09:00-12:00", "13:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")},
    "holidays": [{"country": "DE", "subdivision": "BY"}],
}
FIRST = "250 working days, the first time, ms"
AGAIN = "250 working days, again, ms"
HOURS = "2,000 hours of work, again, ms"
DECADE = "a decade of minutes that were missed, ms"


def working_time(report: Report) -> None:
    """A duration of 250 working days, before and after the years of the calendar are known."""
    calendar = read_calendar(OFFICE, {}, NOW.year).working
    assert calendar is not None
    days, hours = parse_working_duration("P250D"), parse_working_duration("PT2000H")

    def first() -> None:
        forget_years()
        add(calendar, NOW, days)

    report.add(FIRST, _best(first))
    report.add(AGAIN, _best(lambda: add(calendar, NOW, days)))
    report.add(HOURS, _best(lambda: add(calendar, NOW, hours)))
    document: Object = {"cron": "* * * * *", "target": {"workflowId": "w"}}
    schedule = read_schedule(document, {}, NOW).schedule
    assert schedule is not None
    report.add(DECADE, _best(lambda: due(schedule, None, NOW - timedelta(days=3653), NOW)))


def promise_working_time(report: Report) -> None:
    """An instance that waits for days of work does not wait for their calculation."""
    report.promise("ms for 250 working days", report.median(AGAIN), at_most=1)
    report.promise("ms for 2,000 hours of work", report.median(HOURS), at_most=1)


def _best(act: Callable[[], object], times: int = 20) -> float:
    """Milliseconds of the fastest of several calls."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        took.append(time.perf_counter() - began)
    return min(took) * 1000
