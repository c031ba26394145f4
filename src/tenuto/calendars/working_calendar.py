"""Resolved calendars: complete values, which decisions are handed and which can be recorded."""

from __future__ import annotations

import hashlib
from datetime import date
from typing import Literal

import msgspec
from msgspec import Struct

from tenuto.calendars.calendar import Hours


class SpecialDay(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A date that is unlike its weekday, and the reason."""

    date: date
    hours: Hours = ()
    name: str | None = None
    kind: Literal["holiday", "date"] = "date"
    """Whether it is a holiday of a country, or a date of the calendar's own."""


class WorkingCalendar(Struct, frozen=True, kw_only=True, cache_hash=True, rename="camel"):
    """The working time of a calendar with all that it inherits.

    Holidays are dates here, so that another version of the library that knows them, or another law,
    changes no decision that was made before.
    """

    id: str
    timezone: str
    week: tuple[Hours, Hours, Hours, Hours, Hours, Hours, Hours]
    """From Monday on."""
    special: tuple[SpecialDay, ...] = ()
    """In order; each date once."""
    first_year: int
    last_year: int
    """The years for which holidays are known; others have none."""
    version: str = ""
    """A digest of everything above: equal versions have equal working time."""


def with_version(calendar: WorkingCalendar) -> WorkingCalendar:
    """The same calendar with the digest of its content."""
    plain = msgspec.structs.replace(calendar, version="")
    digest = hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()
    return msgspec.structs.replace(calendar, version=digest[:16])
