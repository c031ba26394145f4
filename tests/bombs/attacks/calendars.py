"""Calendars with as many spans, dates and rules as they may have, and what is asked about them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, TOO_LARGE, Ask, Attack

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_OFFICE = ("09:00-17:00",)
HALF_HOURS = tuple(
    f"{hour:02}:{minute:02}-{hour:02}:{minute + 29:02}" for hour in range(24) for minute in (0, 30)
)
"""The whole day, in as many spans as a day may have."""
TEN_MINUTES = tuple(
    f"{hour:02}:{ten}0-{hour:02}:{ten}9" for hour in range(9, 17) for ten in range(6)
)
"""From nine to five, in as many."""
_COUNTRIES = (
    *("US", "DE", "IN", "GB", "BR", "CA", "AU", "ES", "FR", "CH", "MX", "AR", "CN", "JP", "KR"),
    *("MY", "ID", "TH", "TR", "RU", "UA", "PL", "IT", "PT", "NL", "BE", "AT", "SE", "NO", "FI"),
    *("DK", "CZ", "SK", "HU", "RO", "BG", "GR", "HR", "RS", "IE", "NZ", "ZA", "NG", "KE", "EG"),
    *("MA", "SA", "IL", "VN", "PH"),
)


def calendar(id: str, hours: tuple[str, ...] = HALF_HOURS, **more: JSON) -> Ask:
    """Save one that has the same hours on every day."""
    week: Object = {day: list(hours) for day in _DAYS}
    body: Object = {"id": id, "timezone": "Europe/Berlin", "week": week, **more}
    return Ask("PUT", f"/calendars/{id}", body)


def _centuries() -> Iterator[Ask]:
    for year in range(1900, 9700, 200):
        body: Object = {"from": f"{year}-01-01T00:00:00Z", "duration": f"PT{8766 * 190}H"}
        yield Ask("POST", "/calendars/hours/add", body)


def _of_many_dates() -> Iterator[Ask]:
    first = date(2001, 1, 1)
    dates: list[JSON] = [
        {
            "date": (first + timedelta(days=day)).isoformat(),
            "name": "x" * 120,
            "hours": ["09:00-12:00"],
        }
        for day in range(5_000)
    ]
    return (calendar(f"dates{number}", _OFFICE, dates=dates) for number in range(60))


def _everywhere(*hours: str) -> Ask:
    """Save a calendar with the holidays of all these countries."""
    holidays: list[JSON] = [{"country": country} for country in _COUNTRIES]
    return calendar("everywhere", hours, holidays=holidays)


def _of_holidays() -> Iterator[Ask]:
    """Calendars that build on one with many holidays, which changes meanwhile."""
    for number in range(25):
        body: Object = {"id": f"holidays{number}", "extends": "everywhere"}
        yield Ask("PUT", f"/calendars/holidays{number}", body)
    yield _everywhere("09:00-16:00")
    yield _everywhere("09:00-17:00")


def _event(*lines: bytes) -> bytes:
    return b"\r\n".join((b"BEGIN:VEVENT", b"UID:a", *lines, b"END:VEVENT", b""))


def _imports() -> Iterator[Ask]:
    day = b"DTSTART;VALUE=DATE:20260101"
    for events in (
        _event(b"DTSTART;VALUE=DATE:00010101", b"RRULE:FREQ=YEARLY;COUNT=99;BYMONTH=13") * 4_900,
        _event(day, b"RRULE:FREQ=DAILY") * 4_900,
        _event(day, b"RRULE:FREQ=YEARLY;BYDAY=" + b",".join([b"1MO"] * 200_000)),
        _event(day, b"RDATE;VALUE=DATE:" + b",".join([b"20260101"] * 100_000)),
        _event(day, b"X-A" + b";P=1" * 200_000 + b":1"),
        _event(day, b"SUMMARY:" + b"\\;\\," * 200_000),
        _event(day, b"X:\r\n a\r\n" * 80_000),
        _event(day, b"DURATION:P99999999999D"),
        _event(b"DTSTART;TZID=" + b"X" * 400_000 + b":20260101T000000"),
        b"BEGIN:X\r\n" * 50_000,
    ):
        text = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n" + events + b"END:VCALENDAR\r\n"
        yield Ask("POST", "/calendars/hours/import", text, {"content-type": "text/calendar"})


def _long_definitions() -> Iterator[Ask]:
    """Definitions that have to be read in order to know whether they name a calendar."""
    yield calendar("hours", _OFFICE)
    for number in range(12):
        steps: list[JSON] = [
            {
                "stepId": f"s{step}",
                "type": "SET",
                "values": {"x": step},
                **({"transitions": {"default": f"s{step + 1}"}} if step < 3_999 else {}),
            }
            for step in range(4_000)
        ]
        id = f"long{number}"
        body: Object = {"id": id, "steps": steps, "description": "calendar dataQueryID"}
        yield Ask("PUT", f"/workflows/{id}", body)


CALENDARS: tuple[Attack, ...] = (
    Attack("centuries-of-hours", _centuries, TOO_LARGE, before=lambda: [calendar("hours")]),
    Attack(
        "days-of-calendars",
        lambda: (
            [
                Ask("GET", f"/calendars/hours/days?from=2020-01-01&to={last}-12-31")
                for last in (2021, 2021, 2029)
            ]
            * 10
        ),
        TOO_LARGE,
        before=lambda: [calendar("hours")],
        at_once=8,
    ),
    Attack("calendars-of-many-dates", _of_many_dates, TOO_LARGE),
    Attack(
        "calendars-of-holidays",
        _of_holidays,
        TOO_LARGE,
        before=lambda: [_everywhere("09:00-17:00")],
        at_once=2,
    ),
    Attack(
        "imports-of-calendars",
        _imports,
        TOO_LARGE,
        before=lambda: [calendar("hours", _OFFICE)],
        at_once=2,
    ),
    Attack(
        "uses-of-calendars",
        lambda: [Ask("GET", "/calendars/hours?include=uses")] * 6,
        BUSY,
        before=_long_definitions,
        at_once=3,
    ),
)
