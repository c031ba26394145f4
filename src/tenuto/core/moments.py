"""The moments at which durations end, also those in the working time of a calendar.

A moment is computed once, when a wait or timer begins, and recorded with the version of the
calendar: what has begun keeps it, whatever becomes of the calendar.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tenuto.calendars import add, next_working_moment
from tenuto.core.deciding import Deciding
from tenuto.model.durations import Duration
from tenuto.model.failure import UNKNOWN_CALENDAR, Failure
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON
from tenuto.model.working_time import (
    BusinessDuration,
    CalendarVersion,
    WorkingCalendar,
    WorkingDuration,
)

_MOST_NAMED = 10
"""So many calendars a message names."""

Length = Duration | WorkingDuration | BusinessDuration | timedelta


LONGEST_ATTEMPT = timedelta(days=366 * 100)


class UnknownCalendar(ValueError):
    """The tenant has no calendar with the id that a duration names."""


class Moments:
    """Computes the moments of one entry, and collects the calendars that they depend on."""

    def __init__(self, d: Deciding) -> None:
        self._d = d
        self._used: dict[str, CalendarVersion] = {}

    @property
    def calendars(self) -> tuple[CalendarVersion, ...]:
        """The calendars that were used so far, each once."""
        return tuple(self._used.values())

    def after(
        self, length: Length, calendar: str | None = None, since: datetime | None = None
    ) -> datetime:
        """When a duration that begins now, or at `since`, is over; UnknownCalendar.

        `calendar` is the one that stands beside it.
        """
        since = self._d.now if since is None else since
        match length:
            case Duration():
                return length.after(since)
            case timedelta():
                return Duration(length).after(since)
            case BusinessDuration():
                return add(self._calendar(length.calendar), since, length.duration)
            case WorkingDuration():
                assert calendar is not None, "a working duration stands beside a calendar"
                return add(self._calendar(calendar), since, length)

    def working(self, moment: datetime, calendar: str) -> datetime:
        """A moment, or the next one in working time; UnknownCalendar."""
        return next_working_moment(self._calendar(calendar), moment)

    def overrun(self, key: NodeKey) -> datetime | None:
        """When a node that begins now has taken longer than its own `timeout`; UnknownCalendar."""
        timeout = self._d.plan.nodes[key.node].node.timeout
        return None if timeout is None else self.after(timeout)

    def timeout_at(self, timeout: timedelta | BusinessDuration | None) -> datetime | None:
        """When an attempt that is ordered now times out; UnknownCalendar.

        None where that is not counted in working time: then it counts from when it is claimed.
        """
        if not isinstance(timeout, BusinessDuration):
            return None
        return min(self.after(timeout), Duration(LONGEST_ATTEMPT).after(self._d.now))

    def _calendar(self, name: str) -> WorkingCalendar:
        known = self._d.policies.calendars
        found = known.get(name)
        if found is None:
            raise UnknownCalendar(_unknown(name, sorted(known)))
        self._used[name] = CalendarVersion(id=name, version=found.version)
        return found


def unknown_calendar(error: UnknownCalendar, details: JSON = None) -> Failure:
    """What a node fails with when a duration of it names a calendar that does not exist."""
    return Failure(code=UNKNOWN_CALENDAR, message=str(error), details=details, retryable=False)


def _unknown(name: str, known: list[str]) -> str:
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    there = f"there are {', '.join(known[:_MOST_NAMED])}{more}" if known else "there is none"
    return f"there is no calendar {name!r}; {there}"
