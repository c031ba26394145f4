"""The settings that nodes share, whatever their type."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import cast

from msgspec.structs import asdict, astuple

from tenuto.definition.fields import UNUSABLE, Field, Fields, Record
from tenuto.definition.language_kinds import Expression, Template, Variable
from tenuto.definition.nodes import TYPES, AnyNodeType
from tenuto.definition.plain_kinds import Flag, Id, ListOf, Number, OneOf, Text, Whole
from tenuto.definition.report import Place, shown
from tenuto.definition.time_kinds import CalendarId, InCalendar, Length, Span, beside_calendar
from tenuto.model.durations import Duration
from tenuto.model.graph import ErrorRoute, PlainLength, Route, Sla
from tenuto.model.json import JSON, Object
from tenuto.model.policy import BusinessRetryPolicy, RetryPolicy, default_longest
from tenuto.model.working_time import WorkingDuration, parse_working_duration, written

TIMEOUT = InCalendar(Span(may_be_zero=False), may_be_zero=False)


class JoinMode:
    """`all`, `any` or `{"atLeast": n}`: how many incoming edges must be taken."""

    def read(self, value: JSON, place: Place) -> object:
        match value:
            case "all":
                return None
            case "any":
                return 1
            case {"atLeast": least, **rest}:
                for name in rest:
                    place.at(str(name)).wrong("TEN-1012", f"`{name}` is not a field here")
                return Whole(least=1).read(cast("JSON", least), place.at("atLeast"))
            case _:
                place.wrong(
                    "TEN-1013",
                    f"{shown(value)} is not a join mode",
                    'It is `all`, `any` or `{"atLeast": n}`.',
                )
                return UNUSABLE

    def write(self, value: object) -> JSON:
        match value:
            case None:
                return "all"
            case 1:
                return "any"
            case _:
                return {"atLeast": cast("JSON", value)}

    def schema(self) -> Object:
        least: Object = {
            "type": "object",
            "properties": {"atLeast": Whole(least=1).schema()},
            "required": ["atLeast"],
            "additionalProperties": False,
        }
        return {"anyOf": [{"enum": ["all", "any"]}, least]}


class Retry(Record):
    """A retry policy; its delays are in working time where it names a calendar."""

    def __init__(self) -> None:
        super().__init__(RetryPolicy, _RETRY)

    def read(self, value: JSON, place: Place) -> object:
        if not isinstance(value, dict) or "calendar" not in value:
            return super().read(value, place)
        plain = {name: each for name, each in value.items() if name != "calendar"}
        calendar = CalendarId().read(value["calendar"], place.at("calendar"))
        policy = super().read(plain, place)
        if not isinstance(calendar, str) or not isinstance(policy, RetryPolicy):
            return UNUSABLE
        first, longest = (
            parse_working_duration(plain[name]) if name in plain else None
            for name in ("initialDelay", "maxDelay")
        )
        first = first or WorkingDuration(span=policy.initial_delay)
        return BusinessRetryPolicy(
            **asdict(policy),
            calendar=calendar,
            first=first,
            longest=longest or default_longest(first),
        )

    def write(self, value: object) -> JSON:
        if not isinstance(value, BusinessRetryPolicy):
            return super().write(value)
        plain = {
            name: each
            for name, each in asdict(value).items()
            if name in RetryPolicy.__struct_fields__
        }
        found = cast("Object", super().write(RetryPolicy(**plain)))
        if "initialDelay" in found:
            found["initialDelay"] = written(value.first)
        if "maxDelay" in found or value.longest != default_longest(value.first):
            found["maxDelay"] = written(value.longest)
        return {**found, "calendar": value.calendar}

    def schema(self) -> Object:
        found = super().schema()
        properties = cast("Object", found["properties"])
        return {**found, "properties": {**properties, "calendar": CalendarId().schema()}}


_RETRY = Fields(
    Field("maxAttempts", "max_attempts", Whole(least=1)),
    Field("initialDelay", "initial_delay", Span()),
    Field("multiplier", "multiplier", Number(least=1)),
    Field("maxDelay", "max_delay", Span()),
    Field("nonRetryable", "non_retryable", ListOf(Text())),
    Field("onLost", "on_lost", OneOf("retry", "fail")),
)
RETRY = Retry()


class SlaRecord(Record):
    """`{warnAfter, breachAfter, calendar?}`: an SLA."""

    def __init__(self) -> None:
        super().__init__(Sla, _SLA)

    def read(self, value: JSON, place: Place) -> object:
        found = super().read(value, place)
        if not isinstance(found, Sla) or not isinstance(value, dict):
            return UNUSABLE
        if not {"warnAfter", "breachAfter"} & set(value):
            advice = 'Write for example `{"warnAfter": "PT4H", "breachAfter": "P1D"}`.'
            place.wrong("TEN-1018", "`warnAfter` or `breachAfter` is needed", advice)
            return UNUSABLE
        if found.calendar is not None:
            warn, breach = (
                None if read is None else beside_calendar(value[name], read)
                for name, read in (
                    ("warnAfter", found.warn_after),
                    ("breachAfter", found.breach_after),
                )
            )
            found = Sla(
                warn_after=cast("PlainLength | None", warn),
                breach_after=cast("PlainLength | None", breach),
                calendar=found.calendar,
            )
        if _is_after(found.warn_after, found.breach_after):
            place.at("warnAfter").wrong(
                "TEN-1026", "the warning comes no earlier than the breach that it is to prevent"
            )
            return UNUSABLE
        return found

    def schema(self) -> Object:
        one: list[JSON] = [{"required": ["warnAfter"]}, {"required": ["breachAfter"]}]
        return {**super().schema(), "anyOf": one}


def _is_after(warn: PlainLength | None, breach: PlainLength | None) -> bool:
    """Whether a warning comes when its SLA is missed or later, in every calendar."""
    if isinstance(warn, Duration) and isinstance(breach, Duration):
        # Months have different lengths.
        days = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 4))
        return all(warn.after(day) >= breach.after(day) for day in days)
    if isinstance(warn, WorkingDuration) and isinstance(breach, WorkingDuration):
        parts = zip(astuple(warn), astuple(breach), strict=True)
        return all(earlier >= later for earlier, later in parts)
    return False


class Soon(Length):
    """A duration above zero."""

    def read(self, value: JSON, place: Place) -> object:
        length = super().read(value, place)
        if length == Duration(timedelta(0)):
            place.wrong("TEN-1015", "the duration is zero", "Write for example `PT4H`.")
            return UNUSABLE
        return length

    def write(self, value: object) -> JSON:
        return written(value) if isinstance(value, WorkingDuration) else super().write(value)


_SLA = Fields(
    Field("warnAfter", "warn_after", Soon()),
    Field("breachAfter", "breach_after", Soon()),
    Field("calendar", "calendar", CalendarId()),
)
SLA = SlaRecord()

TITLES = Fields(
    Field("name", "name", Text(may_be_empty=True)),
    Field("description", "description", Text(may_be_empty=True)),
)

COMMON = TITLES + Fields(
    Field("outputVariable", "output_variable", Variable()),
    Field("timeout", "timeout", TIMEOUT),
    Field("sla", "sla", SLA),
    Field("errorHandling", "error_handling", OneOf("continue", "fail_workflow")),
    Field("joinMode", "at_least", JoinMode()),
    Field("cancelRest", "cancel_rest", Flag()),
    Field("cancels", "cancels", ListOf(Text())),
    Field("completes", "completes", ListOf(Text())),
    Field("when", "when", Expression()),
)

EXECUTING = Fields(Field("retry", "retry", RETRY), Field("mutex", "mutex", Template("text")))

CODES = ListOf(Text(), least=1)

ROUTES = Fields(
    Field(
        "conditions",
        "conditions",
        ListOf(
            Record(
                Route,
                Fields(
                    Field("when", "when", Expression(), required=True),
                    Field("handle", "handle", Id(), required=True),
                ),
            )
        ),
    ),
    Field(
        "onError",
        "on_error",
        ListOf(
            Record(
                ErrorRoute,
                Fields(
                    Field("codes", "codes", CODES, required=True),
                    Field("handle", "handle", Id(), required=True),
                ),
            )
        ),
    ),
)


def shared_fields(row: AnyNodeType) -> Fields:
    """The settings of the node itself, beside those of its config."""
    return _EXECUTING if row.executes else COMMON


def readable_fields(row: AnyNodeType, *, has_routes: bool) -> Fields:
    """All fields of a node of this type; with `ROUTES` if it has routes."""
    return _READABLE[row.tag, has_routes]


_EXECUTING = COMMON + EXECUTING

_READABLE = {
    (row.tag, has_routes): shared_fields(row) + row.fields + (ROUTES if has_routes else Fields())
    for row in TYPES
    for has_routes in (True, False)
}
