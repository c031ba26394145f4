"""Kinds of field values for durations and timestamps."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from tenuto.definition.expressions import check_template, is_templated
from tenuto.definition.fields import UNUSABLE, Kind, refuse_unknown
from tenuto.definition.language_kinds import TEMPLATE
from tenuto.definition.plain_kinds import Text, pattern_of
from tenuto.definition.report import Place
from tenuto.model.durations import SHORT, Duration, parse_duration, parse_moment
from tenuto.model.json import JSON, Object
from tenuto.model.working_time import (
    BusinessDuration,
    WorkingDuration,
    parse_working_duration,
    written,
)

LONG_LOOKBACK = timedelta(days=7)
"""A longer look-back gets a warning about its cost."""


_ISO = r"^[Pp](?=.)(?:\d+[YMWDymwd])*(?:[Tt](?:\d+(?:[.,]\d+)?[HMShms])+)?$"
LENGTH: Object = {
    "anyOf": [
        {"type": "number", "minimum": 0},
        {
            "type": "string",
            "pattern": r"^[Pp](?=.)(?:\d+[YMWDymwd])*(?:[Tt](?:\d+(?:[.,]\d+)?[HMShms])+)?$",
        },
        {"type": "string", "pattern": pattern_of(SHORT)},
    ]
}
"""The JSON Schema of a duration."""


class Length:
    """A duration that may have months."""

    def read(self, value: JSON, place: Place) -> object:
        try:
            return parse_duration(value)
        except (ValueError, OverflowError) as error:
            place.wrong("TEN-1015", _short(error))
            return UNUSABLE

    def write(self, value: object) -> JSON:
        return iso_duration(cast("Duration", value))

    def schema(self) -> Object:
        return LENGTH


class Lookback(Length):
    """How far back a wait looks for events, with a warning if that is useless or expensive."""

    def read(self, value: JSON, place: Place) -> object:
        length = super().read(value, place)
        if isinstance(length, Duration):
            kept = place.report.events_kept
            if _about(length) > kept:
                place.warn(
                    "TEN-1039",
                    f"it looks back further than the {_days(kept)} for which events are kept",
                )
            elif _about(length) > LONG_LOOKBACK:
                place.warn(
                    "TEN-1039",
                    f"it looks back further than {_days(LONG_LOOKBACK)}: whenever it opens, all "
                    "events of its pattern since then are read that may fit",
                )
        return length


def _about(length: Duration) -> timedelta:
    """Its shortest length, whichever months it covers."""
    return length.span + timedelta(days=28 * length.months)


def _days(span: timedelta) -> str:
    return f"{span / timedelta(days=1):g} days"


class Span:
    """A duration of fixed length, without months."""

    def __init__(self, *, may_be_zero: bool = True) -> None:
        self._may_be_zero = may_be_zero

    def read(self, value: JSON, place: Place) -> object:
        length = Length().read(value, place)
        if not isinstance(length, Duration):
            return UNUSABLE
        if length.months:
            place.wrong(
                "TEN-1015", "months and years have no fixed length", "Write days, as in `P30D`."
            )
            return UNUSABLE
        if not length.span and not self._may_be_zero:
            place.wrong("TEN-1015", "the duration is zero", "Write for example `PT30S`.")
            return UNUSABLE
        return length.span

    def write(self, value: object) -> JSON:
        return iso_duration(Duration(cast("timedelta", value)))

    def schema(self) -> Object:
        return LENGTH


class CalendarId(Text):
    """The id of a calendar: whether it exists is known when a definition is saved."""


def _in_calendar(length: Object) -> Object:
    return {
        "type": "object",
        "properties": {"duration": length, "calendar": CalendarId().schema()},
        "required": ["duration"],
        "additionalProperties": False,
    }


class InCalendar:
    """A duration, or `{duration, calendar}`: counted in the working time of a calendar."""

    def __init__(self, plain: Kind, *, may_be_zero: bool = True) -> None:
        """`plain` reads the duration where no calendar is named."""
        self._plain = plain
        self._may_be_zero = may_be_zero

    def read(self, value: JSON, place: Place) -> object:
        if not isinstance(value, dict):
            return self._plain.read(value, place)
        for name in value:
            if name not in ("duration", "calendar"):
                refuse_unknown(name, ("duration", "calendar"), place)
        if "duration" not in value:
            place.wrong("TEN-1011", "`duration` is missing", "Add `duration`.")
            return UNUSABLE
        if "calendar" not in value:
            return self._plain.read(value["duration"], place.at("duration"))
        calendar = CalendarId().read(value["calendar"], place.at("calendar"))
        length = WorkingLength(may_be_zero=self._may_be_zero).read(
            value["duration"], place.at("duration")
        )
        if not isinstance(calendar, str) or not isinstance(length, WorkingDuration):
            return UNUSABLE
        return BusinessDuration(duration=length, calendar=calendar)

    def write(self, value: object) -> JSON:
        if isinstance(value, WorkingDuration):
            return written(value)
        if isinstance(value, BusinessDuration):
            return {"duration": written(value.duration), "calendar": value.calendar}
        return self._plain.write(value)

    def schema(self) -> Object:
        return {"anyOf": [self._plain.schema(), _in_calendar(LENGTH)]}


class WorkingLength:
    """A duration beside a calendar."""

    def __init__(self, *, may_be_zero: bool = True) -> None:
        self._may_be_zero = may_be_zero

    def read(self, value: JSON, place: Place) -> object:
        try:
            length = parse_working_duration(value)
        except (ValueError, OverflowError) as error:
            place.wrong("TEN-1015", _short(error))
            return UNUSABLE
        if length == WorkingDuration() and not self._may_be_zero:
            place.wrong("TEN-1015", "the duration is zero", "Write for example `PT4H`.")
            return UNUSABLE
        return length

    def write(self, value: object) -> JSON:
        return written(cast("WorkingDuration", value))

    def schema(self) -> Object:
        return LENGTH


def beside_calendar(value: JSON, read: object) -> object:
    """A duration that was read, as one in working time: a calendar stands beside it."""
    if not isinstance(read, Duration | timedelta):
        return read
    return parse_working_duration(value.get("duration") if isinstance(value, dict) else value)


class LengthOrTemplate:
    """A duration, or a template that will give one."""

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, str) and is_templated(value):
            check_template(value, place)
            return value
        return Length().read(value, place)

    def write(self, value: object) -> JSON:
        if isinstance(value, WorkingDuration):
            return written(value)
        return value if isinstance(value, str) else Length().write(value)

    def schema(self) -> Object:
        return {"anyOf": [LENGTH, TEMPLATE]}


class MomentOrTemplate:
    """A timestamp, or a template that will give one; kept as written."""

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, str) and is_templated(value):
            check_template(value, place)
            return value
        try:
            parse_moment(value)
        except (ValueError, OverflowError) as error:
            place.wrong("TEN-1016", _short(error))
            return UNUSABLE
        return value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        moment = r"^\d{4}-\d{2}-\d{2}[T ].*(?:Z|[+-]\d{2}:?\d{2})$"
        return {"anyOf": [{"type": "string", "pattern": moment}, TEMPLATE]}


class EventTimeout:
    """`{duration, calendar?}`: how long a wait stays open."""

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, dict):
            return InCalendar(Length()).read(value, place)
        place.wrong("TEN-1010", "expected an object", 'Write `{"duration": "P3D"}`.')
        return UNUSABLE

    def write(self, value: object) -> JSON:
        found = InCalendar(Length()).write(value)
        return found if isinstance(found, dict) else {"duration": found}

    def schema(self) -> Object:
        return {
            "type": "object",
            "properties": {
                "duration": LENGTH,
                "calendar": CalendarId().schema(),
                "timeoutHandlerStepId": Text().schema(),
            },
            "required": ["duration"],
            "additionalProperties": False,
        }


def iso_duration(duration: Duration) -> str:
    """ISO 8601 text that reads as `duration`."""
    days, seconds = duration.span.days, duration.span.seconds
    date = (f"{duration.months}M" if duration.months else "") + (f"{days}D" if days else "")
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    time = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if duration.span.microseconds:
        time += f"{rest}.{duration.span.microseconds:06d}".rstrip("0") + "S"
    elif rest:
        time += f"{rest}S"
    if not date and not time:
        return "PT0S"
    return f"P{date}T{time}" if time else f"P{date}"


def _short(error: Exception) -> str:
    text = str(error)
    return text if len(text) <= 200 else text[:197] + "..."
