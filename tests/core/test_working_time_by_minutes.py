"""Due moments of steps against a clock that is read minute by minute, in all kinds of calendars."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from random import Random

import pytest

from tenuto.calendars import Hours, Span, SpecialDay, WorkingCalendar
from tenuto.calendars.working_calendar import with_version
from tenuto.model.entries import RetryScheduled, SlaSet, TimerSet, WaitOpened
from tenuto.model.json import Object
from tests.calendars.minutes import ZONES, Oracle, edges
from tests.core.calendars import policies
from tests.core.drawing import delay, draw, task, wait
from tests.core.play import play
from tests.kit.breadth import breadth

HOURS: tuple[Hours, ...] = (
    (),
    (Span(540, 1020),),
    (Span(480, 720), Span(780, 1080)),
    (Span(0, 360), Span(1320, 1440)),
)


def drawn(random: Random) -> tuple[WorkingCalendar, datetime]:
    """A calendar, and a moment near a change of its clock."""
    zone = random.choice(ZONES)
    near = random.choice(edges(zone))
    start = near + timedelta(minutes=random.randrange(-4 * 1440, 2 * 1440))
    week = [random.choice(HOURS) for _ in range(7)]
    week[random.randrange(7)] = HOURS[1]
    off = date(near.year, near.month, near.day)
    calendar = WorkingCalendar(
        id="c",
        timezone=zone,
        week=(week[0], week[1], week[2], week[3], week[4], week[5], week[6]),
        special=(SpecialDay(date=off, hours=random.choice(HOURS)),),
        first_year=near.year - 2,
        last_year=near.year + 10,
    )
    return with_version(calendar), start.astimezone(UTC)


@pytest.mark.parametrize("seed", range(breadth(25, 2_000)))
def test_every_timer_is_due_when_the_minutes_have_passed(seed: int) -> None:
    random = Random(f"timers {seed}")
    calendar, start = drawn(random)
    minutes, days = random.randrange(1, 900), random.randrange(1, 4)
    oracle = Oracle(calendar)
    there: Object = {"calendar": "c"}
    length: Object = {"duration": f"PT{minutes}M", **there}
    retry: Object = {
        "maxAttempts": 2,
        "initialDelay": f"P{days}D",
        **there,
    }
    document = draw(
        "a w d",
        d=delay(f"P{days}D", **there),
        w=wait(eventTimeout=length, timeout={"duration": f"P{days}D", **there}),
        a=task(retry=retry, sla={"breachAfter": f"PT{minutes}M", **there}),
    )
    run = play(document, policies=policies(calendar)).at(start).start()
    run.fail("a", retryable=True)
    by_minutes, by_days = oracle.after(start, minutes), oracle.after_days(start, days)
    for entry in run.entries:
        match entry:
            case TimerSet():
                assert entry.due == by_days
            case WaitOpened():
                assert (entry.timeout_at, entry.fail_at) == (by_minutes, by_days)
            case RetryScheduled():
                assert entry.due == by_days
            case SlaSet():
                assert entry.breach_at == by_minutes
            case _:
                pass
    kinds = {type(entry) for entry in run.entries}
    assert {TimerSet, WaitOpened, RetryScheduled, SlaSet} <= kinds
