"""Cron expressions in words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tenuto.schedules import Cron, Recurring, in_words, parse_cron
from tenuto.schedules.schedule import OnNonWorking
from tests.kit.breadth import breadth
from tests.schedules.test_nominal_times import expressions


def words(text: str, policy: OnNonWorking | None = None, zone: str = "UTC") -> str:
    read = parse_cron(text)
    assert isinstance(read, Cron), read
    timing = Recurring(cron=read, timezone=zone)
    return in_words(timing, has_calendar=policy is not None, on_non_working=policy or "skip")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 9 * * *", "every day at 09:00"),
        ("0 9,17 1 * *", "on the 1st of the month at 09:00 and 17:00"),
        ("30 8 * * MON-FRI", "every weekday from Monday to Friday at 08:30"),
        ("0 9 * * sat,sun", "every Saturday and Sunday at 09:00"),
        ("0 9 * * 1,3", "every Monday and Wednesday at 09:00"),
        ("0 0 L * *", "on the last day of the month at 00:00"),
        ("0 0 L-3 * *", "on 3 days before the last day of the month at 00:00"),
        ("0 0 LW * *", "on the last weekday of the month at 00:00"),
        ("15 10 15W * *", "on the weekday nearest to the 15th of the month at 10:15"),
        ("0 12 * * 5L", "on the last Friday of the month at 12:00"),
        ("0 12 * 1,6 2#1", "on the 1st Tuesday of the month in January and June at 12:00"),
        ("0 9 1 * MON", "on the 1st of the month or every Monday at 09:00"),
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("15,45 * * * *", "every hour at minutes 15 and 45"),
        ("@hourly", "every hour"),
        ("0 */2 * * *", "every 2 hours"),
        ("*/10 9-17 * * *", "every 10 minutes from 09:00 to 17:59"),
        ("* * * * * *", "every second"),
        ("*/15 * * * * *", "every 15 seconds"),
        ("30 0 9 * * *", "every day at 09:00:30"),
        ("0 0 */2 * *", "every 2nd day of the month from the 1st at 00:00"),
    ],
)
def test_expressions_in_words(text: str, expected: str) -> None:
    assert words(text) == f"{expected} UTC"


@pytest.mark.parametrize(
    ("text", "policy", "expected"),
    [
        ("0 9 * * *", "skip", "every working day at 09:00 Europe/Berlin"),
        ("*/5 * * * *", "skip", "every 5 minutes Europe/Berlin in working time"),
        (
            "0 9 1 * *",
            "skip",
            "on the 1st of the month at 09:00 Europe/Berlin, if that is working time",
        ),
        (
            "0 9 1 * *",
            "next",
            "on the 1st of the month at 09:00 Europe/Berlin, else at the next working moment",
        ),
    ],
)
def test_a_calendar_is_in_the_words(text: str, policy: OnNonWorking, expected: str) -> None:
    assert words(text, policy, "Europe/Berlin") == expected


@settings(max_examples=breadth(60, 2_000), deadline=None)
@given(expressions())
def test_every_expression_has_words(text: str) -> None:
    if isinstance(parse_cron(text), Cron):
        assert words(text).endswith(" UTC")
