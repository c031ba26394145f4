"""Nominal times found minute by minute, with the clock of `zoneinfo` and another library's cron."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim

from tenuto.schedules import Dst

MINUTE = timedelta(minutes=1)


class Shown(NamedTuple):
    """What a clock shows in one minute."""

    at: datetime
    local: datetime
    is_repeated: bool
    missing: tuple[datetime, ...]
    """The local minutes that were left out right before."""


def shown(zone: str, start: datetime, end: datetime) -> list[Shown]:
    """Each minute from `start` until before `end`."""
    return list(_shown(ZoneInfo(zone), start, end))


def _shown(zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[Shown]:
    before = (start - MINUTE).astimezone(zone)
    while start < end:
        local = start.astimezone(zone)
        plain, plain_before = local.replace(tzinfo=None), before.replace(tzinfo=None)
        missing: list[datetime] = []
        each = plain_before + MINUTE
        while each < plain:
            missing.append(each)
            each += MINUTE
        yield Shown(start, plain, bool(local.fold), tuple(missing))
        before, start = local, start + MINUTE


class Oracle:
    """An expression, asked about one minute after the other."""

    def __init__(self, text: str) -> None:
        self._cron = CronSim(text, datetime(2026, 1, 1, tzinfo=UTC))
        self._days = lru_cache(maxsize=None)(self._allows)

    def nominal(self, clock: Sequence[Shown], dst: Dst) -> list[datetime]:
        return [each.at for each in clock if self._fires(each, dst)]

    def _fires(self, each: Shown, dst: Dst) -> bool:
        if self._matches(each.local) and not (each.is_repeated and dst.repeated == "first"):
            return True
        return dst.missing == "next" and any(map(self._matches, each.missing))

    def _matches(self, local: datetime) -> bool:
        cron = self._cron
        return (
            local.minute in cron.minutes and local.hour in cron.hours and self._days(local.date())
        )

    def _allows(self, day: date) -> bool:
        return day.month in self._cron.months and self._cron.match_day(day)
