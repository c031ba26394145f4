"""Reads the documents of schedules, with all their problems, and writes them.

Three spellings are read: the plain one, with `target` and `timing` as objects (a schedule
definition), and with `scheduleId`, `callbackUrl` and `payload` (a schedule request).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final, cast
from urllib.parse import urlsplit

from msgspec import UNSET, Struct

from tenuto.calendars import WorkingCalendar
from tenuto.calendars.documents import Zone
from tenuto.calendars.zones import (
    DAY,
    FIRST_YEAR,
    LAST_YEAR,
    from_local,
    moment_of,
    seconds_of,
    segments_of_year,
)
from tenuto.definition.fields import UNUSABLE, Field, Fields, Record, is_object
from tenuto.definition.json_check import is_sound
from tenuto.definition.plain_kinds import Anything, Id, Number, OneOf, TaskId, Text, Whole
from tenuto.definition.report import Place, Report, shown
from tenuto.definition.time_kinds import Span
from tenuto.model.codes import CATALOGUE
from tenuto.model.durations import iso, parse_moment
from tenuto.model.errors import Problem
from tenuto.model.json import JSON, Object, kind_of
from tenuto.schedules.cron import Cron, parse_cron
from tenuto.schedules.schedule import (
    CallbackRetry,
    CallbackTarget,
    CatchUp,
    Dst,
    OneTime,
    Recurring,
    Schedule,
    Target,
    TaskTarget,
    Timing,
    WorkflowTarget,
)
from tenuto.schedules.ticks import Tick, Unsearched, find_start, next_start

LONGEST_JITTER = timedelta(days=1)
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}\Z")
_MILLISECOND = timedelta(milliseconds=1)


class ReadSchedule(Struct, frozen=True, kw_only=True):
    """The result of reading a document: its problems, and the schedule if it has no errors."""

    schedule: Schedule | None
    problems: tuple[Problem, ...]


def read_schedule(
    document: JSON,
    calendars: Mapping[str, WorkingCalendar],
    now: datetime,
    *,
    fallback_id: str = "schedule",
) -> ReadSchedule:
    """The schedule of a document.

    `calendars` are those that it may name, `now` is the present, after which it must fire, and
    `fallback_id` the id of a schedule that names none.
    """
    report = Report()
    place = Place("$", report)
    schedule = _read(document, place, fallback_id)
    if schedule is not None:
        _check_calendar(schedule, calendars, place)
    if schedule is None or _has_errors(report):
        return ReadSchedule(schedule=None, problems=report.problems)
    _check_that_it_fires(schedule, calendars.get(schedule.calendar or ""), now, place)
    _warn_of_silence(schedule, now, place)
    return ReadSchedule(
        schedule=None if _has_errors(report) else schedule, problems=report.problems
    )


def stored_schedule(document: JSON) -> ReadSchedule:
    """The schedule of a document that was saved before: whether it still fires does not matter."""
    report = Report()
    schedule = _read(document, Place("$", report), "schedule")
    return ReadSchedule(
        schedule=None if _has_errors(report) else schedule, problems=report.problems
    )


def _has_errors(report: Report) -> bool:
    return any(each.severity == "error" for each in report.problems)


def write_schedule(schedule: Schedule) -> Object:
    """The document that reads as `schedule`."""
    written: Object = {"id": schedule.id}
    if schedule.name is not None:
        written["name"] = schedule.name
    match schedule.timing:
        case OneTime(at=at):
            written |= {"type": "one-time", "executeAt": iso(at)}
        case Recurring(cron=cron, timezone=zone, start=start, end=end, dst=dst):
            written |= {"type": "recurring", "cron": cron.text, "timezone": zone}
            written |= {} if start is None else {"startDate": iso(start)}
            written |= {} if end is None else {"endDate": iso(end)}
            written |= {} if dst == Dst() else {"dst": _DST.write(dst)}
    written["target"] = TargetKind().write(schedule.target)
    if schedule.input is not UNSET:
        written["input"] = schedule.input
    written["overlap"] = schedule.overlap
    window = Span().write(schedule.catch_up.window)
    written["catchUp"] = {"mode": schedule.catch_up.mode, "window": window}
    if schedule.jitter:
        written["jitter"] = Span().write(schedule.jitter)
    if schedule.calendar is not None:
        written |= {"calendar": schedule.calendar, "onNonWorking": schedule.on_non_working}
    metadata: Object = {
        name: value
        for name, value in (
            ("description", schedule.description),
            ("definition", schedule.definition),
        )
        if value is not None
    }
    return {**written, "metadata": metadata} if metadata else written


# -- kinds


class CronText:
    """A cron expression."""

    def read(self, value: JSON, place: Place) -> object:
        text = Text().read(value, place)
        if not isinstance(text, str):
            return UNUSABLE
        read = parse_cron(text)
        if isinstance(read, Cron):
            return read
        for problem in read:
            place.wrong("TEN-2720", problem.message, problem.advice)
        return UNUSABLE

    def write(self, value: object) -> JSON:
        return cast("Cron", value).text

    def schema(self) -> Object:
        return {"type": "string", "minLength": 1}


class Moment:
    """A moment with its zone."""

    def read(self, value: JSON, place: Place) -> object:
        try:
            moment = parse_moment(value)
        except (ValueError, OverflowError) as error:
            place.wrong("TEN-1016", str(error)[:200], "Write for example `2026-11-15T20:12:14Z`.")
            return UNUSABLE
        if not FIRST_YEAR < moment.year < LAST_YEAR:
            place.wrong("TEN-1016", f"the year {moment.year} is out of bounds", "Correct it.")
            return UNUSABLE
        return moment

    def write(self, value: object) -> JSON:
        return iso(cast("datetime", value))

    def schema(self) -> Object:
        return {"type": "string", "format": "date-time"}


class MomentOrDate(Moment):
    """A moment, or a date in the zone of the schedule."""

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, str) and len(value) == 10:
            try:
                day = date.fromisoformat(value)
            except ValueError:
                place.wrong("TEN-1016", f"{shown(value)} is not a date", "Write `2026-12-31`.")
                return UNUSABLE
            if FIRST_YEAR < day.year < LAST_YEAR:
                return day
            advice = f"Name a date in the years {FIRST_YEAR + 1} to {LAST_YEAR - 1}."
            place.wrong("TEN-1016", f"the year {day.year} is not possible", advice)
            return UNUSABLE
        return super().read(value, place)

    def schema(self) -> Object:
        return {"type": "string"}


class Kind(OneOf):
    """`recurring` or `one-time`, also as `RECURRING` and `ONE_TIME`."""

    def __init__(self) -> None:
        super().__init__("recurring", "one-time")

    def read(self, value: JSON, place: Place) -> object:
        plain = value.lower().replace("_", "-") if isinstance(value, str) else value
        return super().read(plain, place)


class Jitter(Span):
    """How much later a start may be."""

    def read(self, value: JSON, place: Place) -> object:
        span = super().read(value, place)
        if isinstance(span, timedelta) and span > LONGEST_JITTER:
            place.wrong("TEN-2724", "a jitter is at most a day", "Write for example `PT5M`.")
            return UNUSABLE
        return span


class Url(Text):
    """An address that is called."""

    def read(self, value: JSON, place: Place) -> object:
        text = super().read(value, place)
        if isinstance(text, str):
            try:
                parts = urlsplit(text)
                usable = parts.scheme in ("http", "https") and bool(parts.hostname)
            except ValueError:
                usable = False
            if not usable:
                advice = "Write it as https://HOST/PATH."
                place.wrong("TEN-2301", f"{shown(text)} is not the URL of a callback", advice)
                return UNUSABLE
        return text


_RETRY = Record(
    CallbackRetry,
    Fields(
        Field("maxRetries", "max_retries", Whole(least=0, most=100)),
        Field("initialDelay", "initial_delay", Span()),
        Field("backoffMultiplier", "backoff_multiplier", Number(least=1)),
    ),
)
_DST = Record(
    Dst,
    Fields(
        Field("missing", "missing", OneOf("next", "skip")),
        Field("repeated", "repeated", OneOf("first", "both")),
    ),
)
_CATCH_UP = Record(
    CatchUp,
    Fields(
        Field("mode", "mode", OneOf("none", "one", "all")),
        Field("window", "window", Span(may_be_zero=False)),
    ),
)
_CALLBACK = Fields(
    Field("callbackUrl", "callback_url", Url(), required=True),
    Field("retryPolicy", "retry", _RETRY),
)
_WORKFLOW = Fields(
    Field("workflowId", "workflow_id", Text(), required=True),
    Field("version", "version", Whole(least=1)),
)
_TASK = Fields(Field("taskId", "task_id", TaskId(), required=True))
_TYPED = Fields(
    Field("type", "type", OneOf("workflow", "task"), required=True),
    Field("id", "id", Text(), required=True),
    Field("version", "version", Whole(least=1)),
)
_FORMS: Final[Mapping[str, Record]] = {
    "workflowId": Record(WorkflowTarget, _WORKFLOW),
    "taskId": Record(TaskTarget, _TASK),
    "callbackUrl": Record(CallbackTarget, _CALLBACK),
}


class TargetKind:
    """What is started: a workflow, a task, or a callback."""

    def read(self, value: JSON, place: Place) -> object:
        if not is_object(value, place, advice=CATALOGUE["TEN-2723"].advice):
            return UNUSABLE
        named = [name for name in _FORMS if name in value]
        if len(named) == 1:
            return _FORMS[named[0]].read(value, place)
        if not named and ("type" in value or "id" in value):
            return self._typed(value, place)
        if named:
            message = f"it names {' and '.join(f'`{name}`' for name in named)}"
        else:
            message = "it names neither a workflow nor a task nor a callback"
        place.wrong("TEN-2723", message)
        return UNUSABLE

    def _typed(self, value: Object, place: Place) -> object:
        found = _TYPED.read(value, place)
        if found is None:
            return UNUSABLE
        if found["type"] == "workflow":
            version = cast("int | None", found.get("version"))
            return WorkflowTarget(workflow_id=cast("str", found["id"]), version=version)
        return TaskTarget(task_id=cast("str", found["id"]))

    def write(self, value: object) -> JSON:
        match cast("Target", value):
            case WorkflowTarget() as target:
                return _FORMS["workflowId"].write(target)
            case TaskTarget() as target:
                return _FORMS["taskId"].write(target)
            case CallbackTarget() as target:
                return _FORMS["callbackUrl"].write(target)

    def schema(self) -> Object:
        return {"anyOf": [each.schema() for each in _FORMS.values()]}


_TIMES = (
    Field("executeAt", "execute_at", Moment()),
    Field("cronExpression", "cron", CronText()),
    Field("timezone", "timezone", Zone()),
    Field("startDate", "start", MomentOrDate()),
    Field("endDate", "end", MomentOrDate()),
)
_TIMING = Fields(*_TIMES)
FIELDS = Fields(
    Field("id", "id", Id(_ID, "the id of a schedule")),
    Field("scheduleId", "id", Id(_ID, "the id of a schedule")),
    Field("name", "name", Text(may_be_empty=True)),
    Field("type", "type", Kind()),
    Field("cron", "cron", CronText()),
    *_TIMES,
    Field("timing", "timing", Anything()),
    Field("target", "target", TargetKind()),
    Field("callbackUrl", "callback_url", Url()),
    Field("retryPolicy", "retry", _RETRY),
    Field("input", "input", Anything()),
    Field("payload", "input", Anything()),
    Field("overlap", "overlap", OneOf("allow", "skip", "queue", "cancel-running")),
    Field("catchUp", "catch_up", _CATCH_UP),
    Field("jitter", "jitter", Jitter()),
    Field("dst", "dst", _DST),
    Field("calendar", "calendar", Text()),
    Field("onNonWorking", "on_non_working", OneOf("skip", "next", "previous")),
    Field("metadata", "metadata", Anything()),
)
_READ_ONLY = frozenset(
    {
        *("status", "nextExecution", "lastExecuted", "lastInstanceId", "note", "problem"),
        *("version", "inWords", "problems"),
    }
)
"""What an answer has beside the document, so that it can be sent back."""
_TWICE = (("id", "scheduleId"), ("cron", "cronExpression"), ("input", "payload"))


# -- reading


def _read(document: JSON, place: Place, fallback_id: str) -> Schedule | None:
    if not is_object(document, place, FIELDS) or not is_sound(document, place):
        return None
    given = {name: value for name, value in document.items() if name not in _READ_ONLY}
    for one, other in _TWICE:
        if one in given and other in given:
            message = f"`{one}` and `{other}` are the same field"
            place.at(other).wrong("TEN-2729", message, "Write one of them.")
    found = FIELDS.read(given, place) or {}
    names = _flat(given, found, place)
    target = _target(given, found, place)
    timing = _timing(names, found, place)
    if "onNonWorking" in given and "calendar" not in given:
        place.at("onNonWorking").wrong(
            "TEN-2727", "there is no calendar whose working time is meant", "Add `calendar`."
        )
    if target is None or timing is None:
        return None
    named = ("name", "input", "overlap", "catch_up", "jitter", "calendar", "on_non_working")
    others = {name: found[name] for name in named if name in found}
    return Schedule(
        id=cast("str", found.get("id", fallback_id)),
        timing=timing,
        target=target,
        description=_noted("description", given.get("metadata"), place),
        definition=_noted("definition", given.get("metadata"), place),
        **others,  # type: ignore[arg-type]  # as its fields have read them
    )


def _flat(given: Object, found: dict[str, object], place: Place) -> dict[str, Place]:
    """The places of the fields about time, those of `timing` moved beside the others."""
    names = {name: place.at(name) for name in given}
    timing = given.get("timing")
    if timing is not None and is_object(timing, place.at("timing"), _TIMING):
        inner = place.at("timing")
        for name in timing:
            if name in given or (name == "cronExpression" and "cron" in given):
                message = f"`{name}` is also beside `timing`"
                inner.at(name).wrong("TEN-2729", message, "Write one of them.")
        found.update(_TIMING.read(timing, inner) or {})
        names |= {name: inner.at(name) for name in timing}
    if "cronExpression" in names:
        names.setdefault("cron", names["cronExpression"])
    return names


def _target(given: Object, found: dict[str, object], place: Place) -> Target | None:
    if "callbackUrl" in given and "target" in given:
        place.at("callbackUrl").wrong("TEN-2723", "there is also a `target`", "Write one of them.")
        return None
    if "callbackUrl" in given:
        retry = cast("CallbackRetry", found.get("retry", CallbackRetry()))
        url = found.get("callback_url")
        return None if url is None else CallbackTarget(callback_url=cast("str", url), retry=retry)
    if "retryPolicy" in given:
        message = "only a callback is sent again by the schedule"
        advice = "Put it beside `callbackUrl`; a workflow has policies of its own."
        place.at("retryPolicy").wrong("TEN-2723", message, advice)
    if "target" not in given:
        place.wrong("TEN-2723", "`target` is missing")
    return cast("Target | None", found.get("target"))


def _timing(names: Mapping[str, Place], found: dict[str, object], place: Place) -> Timing | None:
    has_cron, has_moment = "cron" in names, "executeAt" in names
    kind = found.get("type")
    is_request = "scheduleId" in names
    if has_cron and has_moment and is_request and kind != "one-time":
        # A request has `executeAt` in any case: of a recurring one it is the beginning.
        found.setdefault("start", found.get("execute_at"))
        has_moment = False
    if has_cron == has_moment:
        message = "it has both `cron` and `executeAt`" if has_cron else "it has no time"
        advice = "Write `cron` for a recurring schedule, or `executeAt` for a single moment."
        place.wrong("TEN-2721", message, advice)
        return None
    if kind is not None and kind != ("recurring" if has_cron else "one-time"):
        needed = "cron" if kind == "recurring" else "executeAt"
        other = "executeAt" if kind == "recurring" else "cron"
        message = f"a {kind} schedule has `{needed}`, and this one has `{other}`"
        names["type"].wrong("TEN-2721", message, "Correct the type, or leave it out.")
        return None
    if has_moment:
        for name in ("startDate", "endDate", "dst"):
            if name in names:
                message = f"a single moment has no `{name}`"
                names[name].wrong("TEN-2721", message, "Leave it out, or write `cron`.")
        at = found.get("execute_at")
        return None if at is None else OneTime(at=cast("datetime", at))
    return _recurring(names, found)


def _recurring(names: Mapping[str, Place], found: dict[str, object]) -> Recurring | None:
    if "timezone" in names and "timezone" not in found:
        return None
    zone = cast("str", found.get("timezone", "UTC"))
    start = _edge(found.get("start"), zone, is_end=False)
    end = _edge(found.get("end"), zone, is_end=True)
    if start is not None and end is not None and end < start:
        message = f"it ends at {iso(end)}, before it begins at {iso(start)}"
        names["endDate"].wrong("TEN-2722", message, "Correct `startDate` or `endDate`.")
    cron = found.get("cron")
    if cron is None:
        return None
    return Recurring(
        cron=cast("Cron", cron),
        timezone=zone,
        start=start,
        end=end,
        dst=cast("Dst", found.get("dst", Dst())),
    )


def _edge(value: object, zone: str, *, is_end: bool) -> datetime | None:
    """A moment, or the first or last one of a date."""
    if not isinstance(value, date) or isinstance(value, datetime):
        return value if isinstance(value, datetime) else None
    midnight = seconds_of(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if is_end:
        return moment_of(from_local(zone, midnight + DAY)) - _MILLISECOND
    return moment_of(from_local(zone, midnight))


def _noted(name: str, metadata: JSON, place: Place) -> str | None:
    """A text of the metadata."""
    if metadata is None or (not isinstance(metadata, dict) and name != "description"):
        return None
    if not is_object(metadata, place.at("metadata")):
        return None
    value = metadata.get(name)
    if value is None or isinstance(value, str):
        return value
    place.at("metadata").at(name).wrong("TEN-1010", f"expected text, found {kind_of(value)}")
    return None


# -- checks of a whole schedule


def _check_calendar(
    schedule: Schedule, calendars: Mapping[str, WorkingCalendar], place: Place
) -> None:
    if schedule.calendar is None or schedule.calendar in calendars:
        return
    advice = place.did_you_mean(schedule.calendar, list(calendars), "Make the calendar first.")
    message = f"there is no calendar {shown(schedule.calendar)}"
    place.at("calendar").wrong("TEN-2726", message, advice)


def _check_that_it_fires(
    schedule: Schedule, calendar: WorkingCalendar | None, now: datetime, place: Place
) -> None:
    if isinstance(schedule.timing, OneTime):
        oldest = now - schedule.catch_up.window
        if schedule.timing.at < oldest:
            message = f"{iso(schedule.timing.at)} has passed, by more than is caught up"
            place.at("executeAt").wrong("TEN-2725", message, "Name a moment in the future.")
            return
        after = schedule.timing.at - _MILLISECOND
    else:
        after = now
    found = find_start(schedule, calendar, after)
    if isinstance(found, Tick):
        return
    if next_start(schedule, None, after) is None:
        end = schedule.timing.end if isinstance(schedule.timing, Recurring) else None
        message = "it never fires" if end is None else f"nothing is due until it ends at {iso(end)}"
        place.wrong("TEN-2725", message)
    else:
        message = f"the calendar {shown(schedule.calendar)} skips all its times"
        if isinstance(found, Unsearched):
            message += f" until {iso(found.until)}, and no later one is looked for"
        advice = "Name times in working hours, or set `onNonWorking` to `next`."
        place.at("calendar").wrong("TEN-2725", message, advice)


def _warn_of_silence(schedule: Schedule, now: datetime, place: Place) -> None:
    """Warn if something that runs all day long pauses while the clock repeats an hour."""
    timing = schedule.timing
    if not isinstance(timing, Recurring) or timing.dst.repeated == "both":
        return
    if not timing.cron.hour.is_any or timing.cron.day.values == ():
        return
    year = min(max(now.year, FIRST_YEAR), LAST_YEAR)
    if any(each.before > each.offset for each in segments_of_year(timing.timezone, year)):
        place.at("cron").warn(
            "TEN-2728",
            f"when the clock of {timing.timezone} is set back, nothing fires until it shows new "
            "times: for an hour, in most zones",
        )
