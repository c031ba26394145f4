"""Schedules and calendars are the same over an engine in this process and over HTTP."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tenuto import Conflict, InvalidInput, NotFound, TenutoError
from tenuto.engine.schedules import lookup
from tenuto.model.json import JSON, Object
from tenuto.workspace import stored_calendars
from tenuto.workspace.schedule_values import ScheduleFilter
from tenuto.workspace.values import BulkOperation, InstanceFilter
from tests.engine.situations import until
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

WEEK: Object = {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")}
BERLIN: Object = {
    "id": "berlin",
    "timezone": "Europe/Berlin",
    "week": WEEK,
    "holidays": [{"country": "DE"}],
    "dates": [{"date": "2026-12-24", "name": "Christmas Eve"}],
}
DAILY: Object = {
    "id": "daily",
    "cron": "0 9 * * *",
    "timezone": "Europe/Berlin",
    "target": {"workflowId": "double"},
    "input": {"number": 21},
}
ICAL = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//x//y//EN
BEGIN:VEVENT
UID:1
DTSTART;VALUE=DATE:20261228
SUMMARY:Company holiday
END:VEVENT
BEGIN:VEVENT
UID:2
DTSTART:20261229T100000Z
DTEND:20261229T110000Z
SUMMARY:A meeting
END:VEVENT
BEGIN:VEVENT
UID:3
DTSTART;VALUE=DATE:20261224
SUMMARY:Half a day
END:VEVENT
END:VCALENDAR
""".replace("\n", "\r\n")


async def refused(call: Any) -> TenutoError:  # noqa: ANN401 - any awaitable
    with pytest.raises(TenutoError) as caught:
        await call
    return caught.value


async def ended(place: Place, operation: BulkOperation) -> BulkOperation:
    """The operation once it has ended; its process works on it in the background."""
    assert operation.id is not None
    found = operation
    while found.status == "running":
        await asyncio.sleep(0)
        found = await place.workspace.bulk.get(operation.id)
    return found


# -- schedules


async def test_a_schedule_is_saved_read_listed_and_removed(place: Place) -> None:
    schedules = place.workspace.schedules
    saved = await schedules.save({**DAILY, "metadata": {"description": "each day"}})
    assert (saved.id, saved.version, saved.status) == ("daily", 1, "active")
    assert saved.in_words == "every day at 09:00 Europe/Berlin"
    assert saved.next_execution is not None
    assert saved.input == {"number": 21}
    assert saved.target == {"workflowId": "double"}
    assert saved.metadata.description == "each day"
    assert await schedules.get("daily") == saved
    await schedules.save({**DAILY, "id": "other", "target": {"workflowId": "wait"}})
    assert [each.id for each in await schedules.list()] == ["daily", "other"]
    assert [each.id for each in await schedules.list(workflow="double")] == ["daily"]
    assert [each.id for each in await schedules.list(status="paused")] == []
    page = await schedules.page(ScheduleFilter(), limit=1)
    assert [each.id for each in page.items] == ["daily"]
    page = await schedules.page(limit=1, cursor=page.next_cursor)
    assert ([each.id for each in page.items], page.next_cursor) == (["other"], None)
    await schedules.remove("daily")
    error = await refused(schedules.get("daily"))
    assert (type(error), error.code) == (NotFound, "TEN-3080")


async def test_the_same_content_again_changes_nothing_and_a_version_guards_changes(
    place: Place,
) -> None:
    schedules = place.workspace.schedules
    first = await schedules.save(DAILY)
    assert (await schedules.save(DAILY)).version == first.version
    changed = await schedules.save({**DAILY, "cron": "0 10 * * *"}, only_after=first.version)
    assert changed.version == first.version + 1
    error = await refused(schedules.save({**DAILY, "cron": "0 11 * * *"}, only_after=first.version))
    assert (type(error), error.code) == (Conflict, "TEN-3082")


async def test_a_schedule_without_an_id_gets_a_free_one(place: Place) -> None:
    schedules = place.workspace.schedules
    nameless: Object = {name: value for name, value in DAILY.items() if name != "id"}
    assert (await schedules.save({**nameless, "name": "Each day"})).id == "each-day"
    assert (await schedules.save({**nameless, "name": "Each day"})).id == "each-day-2"
    assert (await schedules.save(nameless)).id == "double"


async def test_what_is_answered_can_be_sent_back(place: Place) -> None:
    from tenuto.model.moments import spelled  # noqa: PLC0415

    schedules, calendars = place.workspace.schedules, place.workspace.calendars
    calendar = await calendars.save(BERLIN)
    assert (await calendars.save(spelled(calendar))).version == calendar.version
    saved = await schedules.save({**DAILY, "calendar": "berlin"})
    assert (await schedules.save(spelled(saved))).version == saved.version


async def test_a_trigger_starts_an_instance_with_the_input_of_its_tick(place: Place) -> None:
    schedules = place.workspace.schedules
    await place.workspace.deploy(
        {
            "id": "echo",
            "steps": [
                {"stepId": "end", "type": "END", "outputParameters": {"got": "{{ctx.input}}"}}
            ],
        }
    )
    input: Object = {"at": "{{ schedule.nominal }}", "id": "{{ schedule.id }}"}
    await schedules.save({**DAILY, "target": {"workflowId": "echo"}, "input": input})
    moment = datetime(2026, 1, 2, 8, tzinfo=UTC)
    tick = await schedules.trigger("daily", moment)
    assert (tick.outcome, tick.cause, tick.nominal) == ("started", "trigger", moment)
    assert tick.instance_id is not None
    instance = await place.workspace.instance(tick.instance_id)
    result = await instance.result(timeout=30)
    assert result == {"got": {"at": "2026-01-02T08:00:00.000Z", "id": "daily"}}
    details = await instance.details()
    assert details["schedule"] == {"id": "daily", "nominal": "2026-01-02T08:00:00.000Z"}
    [listed] = (await place.workspace.page(InstanceFilter(ids=(instance.id,)))).items
    assert listed.schedule == details["schedule"]
    other = await place.workspace.start("echo", {}, key="schedule:daily:2026-01-09T08:00:00.000Z")
    [listed] = (await place.workspace.page(InstanceFilter(ids=(other.id,)))).items
    assert listed.schedule is None, "the key alone does not make it one of the schedule"
    explained: Any = await instance.explain()
    [completed, cause] = explained["causes"]
    assert (completed["kind"], cause["kind"]) == ("completed", "schedule")
    assert cause["details"] == {"scheduleId": "daily", "nominal": "2026-01-02T08:00:00.000Z"}
    again = await schedules.trigger("daily", moment)
    assert again.instance_id == tick.instance_id
    assert len(await schedules.ticks("daily")) == 1
    assert (await schedules.get("daily")).last_instance_id == tick.instance_id


async def test_a_paused_schedule_keeps_its_note_until_it_is_resumed(place: Place) -> None:
    schedules = place.workspace.schedules
    await schedules.save(DAILY)
    paused = await schedules.pause("daily", "the warehouse is moving")
    assert (paused.status, paused.note) == ("paused", "the warehouse is moving")
    assert paused.next_execution is None
    assert (await schedules.pause("daily")).note == "the warehouse is moving"
    assert (await schedules.trigger("daily")).outcome == "started"
    resumed = await schedules.resume("daily")
    assert (resumed.status, resumed.note) == ("active", None)
    assert resumed.next_execution is not None


async def test_a_preview_says_why_ticks_are_skipped(place: Place) -> None:
    schedules = place.workspace.schedules
    await place.workspace.calendars.save(BERLIN)
    saved = await schedules.save({**DAILY, "calendar": "berlin"})
    assert saved.in_words == "every working day at 09:00 Europe/Berlin"
    after = datetime(2026, 12, 23, 12, tzinfo=UTC)
    ticks = await schedules.preview("daily", count=5, after=after)
    assert [(each.nominal.day, each.skipped) for each in ticks] == [
        (24, "Thu 24 Dec 2026 is a day off: Christmas Eve"),
        (25, "Fri 25 Dec 2026 is a holiday: Christmas Day"),
        (26, "Sat 26 Dec 2026 is a holiday: Second Day of Christmas"),
        (27, "Sun 27 Dec 2026 is not a working day"),
        (28, None),
    ]


async def test_a_document_is_previewed_before_it_can_be_saved(place: Place) -> None:
    schedules = place.workspace.schedules
    typed: Object = {"cron": "0 9 * * MON", "timezone": "Europe/Berlin"}
    found = await schedules.preview_document(typed, count=2)
    assert (found.valid, len(found.items)) == (False, 2)
    assert found.in_words == "every Monday at 09:00 Europe/Berlin"
    assert [each.code for each in found.problems] == ["TEN-2723"]
    found = await schedules.preview_document({**typed, "target": {"workflowId": "double"}})
    assert [each.path for each in found.problems] == ["$.input"]
    whole: Object = {**DAILY, "cron": "0 9 * * MON"}
    assert (await schedules.preview_document(whole)).valid
    found = await schedules.preview_document({**whole, "cron": "0 9 31 2 *"})
    assert (found.valid, found.items, found.in_words) == (False, [], None)
    assert await schedules.list() == []


BAD: dict[str, tuple[Object, str, str, str]] = {
    "never fires": ({"cron": "0 9 31 2 *"}, "TEN-2720", "$.cron", ""),
    "unknown zone": (
        {"timezone": "Europe/Berlinn"},
        "TEN-2711",
        "$.timezone",
        "Did you mean `Europe/Berlin`?",
    ),
    "end before start": (
        {"startDate": "2030-02-01", "endDate": "2030-01-01"},
        "TEN-2722",
        "$.endDate",
        "",
    ),
    "no such workflow": (
        {"target": {"workflowId": "doubel"}},
        "TEN-2730",
        "$.target.workflowId",
        "double",
    ),
    "no such calendar": ({"calendar": "berlinn"}, "TEN-2726", "$.calendar", "berlin"),
    "over already": ({"endDate": "2020-01-01"}, "TEN-2725", "$", ""),
    "a year that is not one": ({"startDate": "soon"}, "TEN-1016", "$.startDate", ""),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_schedule_is_refused_with_advice_when_it_is_saved(
    place: Place, name: str
) -> None:
    """What users do wrong is refused at save with advice, all of it at once: cron that never
    fires, an unknown zone, an end before the start, a target or a calendar that does not exist,
    input that does not fit.
    """
    await place.workspace.calendars.save(BERLIN)
    changes, code, path, advice = BAD[name]
    error = await refused(place.workspace.schedules.save({**DAILY, **changes}))
    assert isinstance(error, InvalidInput)
    found = [each for each in error.problems if each.path == path]
    assert [each.code for each in found] == [code]
    assert advice in found[0].advice
    assert await place.workspace.schedules.list() == []


async def test_input_that_does_not_fit_is_refused_when_it_is_saved(place: Place) -> None:
    await place.workspace.deploy(
        {
            "id": "typed",
            "inputSchema": {"type": "object", "required": ["number"]},
            "steps": [{"stepId": "end", "type": "END"}],
        }
    )
    wrong: Object = {**DAILY, "target": {"workflowId": "typed"}, "input": {"count": 1}}
    error = await refused(place.workspace.schedules.save(wrong))
    assert isinstance(error, InvalidInput)
    assert [each.path for each in error.problems] == ["$.input"]


@pytest.mark.parametrize(
    "document",
    [
        {
            "id": "seed",
            "type": "recurring",
            "target": {"type": "workflow", "id": "double"},
            "timing": {"cronExpression": "0 9 * * *", "timezone": "Europe/Berlin"},
            "input": {"number": 21},
            "metadata": {"createdBy": "me", "createdAt": "2020-01-01T00:00:00Z"},
        },
        {
            "scheduleId": "seed",
            "type": "ONE_TIME",
            "executeAt": "2999-08-02T10:00:00Z",
            "callbackUrl": "https://example.com/called",
            "payload": {"number": 21},
            "retryPolicy": {"maxRetries": 3, "initialDelay": 5000, "backoffMultiplier": 2.0},
        },
    ],
)
async def test_other_spellings_are_taken_and_answered_in_one(
    place: Place, document: Object
) -> None:
    """ "seed 000's `ScheduleDefinition` … seed 003's `ScheduleRequest` … are accepted"."""
    saved = await place.workspace.schedules.save(document)
    assert saved.id == "seed"
    assert saved.input == {"number": 21}
    assert saved.type == ("recurring" if saved.cron else "one-time")
    assert await place.workspace.schedules.get("seed") == saved


# -- backfills


async def test_a_backfill_starts_what_was_not_started_once(place: Place) -> None:
    schedules = place.workspace.schedules
    await schedules.save({**DAILY, "timezone": "UTC"})
    first, last = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 10, tzinfo=UTC)
    known = await schedules.trigger("daily", datetime(2026, 1, 6, 9, tzinfo=UTC))
    counted = await schedules.backfill("daily", first, last, dry_run=True)
    assert (counted.id, counted.matched, counted.status) == (None, 5, "dry-run")
    begun = await schedules.backfill("daily", first, last, concurrency=2, key="one")
    assert (begun.target, begun.action) == ("ticks", "backfill")
    done = await ended(place, begun)
    assert (done.status, done.matched, done.done, done.failed) == ("done", 5, 5, 0)
    ticks = {each.nominal.day: each for each in await schedules.ticks("daily")}
    assert sorted(ticks) == [5, 6, 7, 8, 9]
    assert {each.outcome for each in ticks.values()} == {"started"}
    assert ticks[6].instance_id == known.instance_id
    again = await ended(place, await schedules.backfill("daily", first, last))
    assert again.done == 5
    assert await schedules.ticks("daily") == [ticks[day] for day in (9, 8, 7, 6, 5)]
    same = await schedules.backfill("daily", first, last, concurrency=2, key="one")
    assert same.id == begun.id


async def test_a_backfill_of_too_many_ticks_is_refused_and_starts_none(place: Place) -> None:
    schedules = place.workspace.schedules
    await schedules.save({**DAILY, "id": "seconds", "cron": "* * * * * *"})
    first = datetime(2026, 1, 5, tzinfo=UTC)
    last = first + timedelta(seconds=100_000)
    for dry_run in (True, False):
        error = await refused(schedules.backfill("seconds", first, last, dry_run=dry_run))
        assert isinstance(error, InvalidInput)
        [problem] = error.problems
        assert (problem.code, problem.path) == ("TEN-2733", "$.to")
    assert await place.workspace.bulk.list() == []
    first += timedelta(seconds=1)
    counted = await schedules.backfill("seconds", first, last, dry_run=True)
    assert counted.matched == 100_000


async def test_a_backfill_of_a_range_that_is_too_long_to_count_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A count ends at so many candidates, however few of them are ticks."""
    monkeypatch.setattr(lookup, "MOST_LOOKED", 3_000)
    halves = [
        f"{hour:02}:{half:02}-{hour:02}:{half + 29:02}" for hour in range(24) for half in (0, 30)
    ]
    days = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    extra: JSON = {"date": "2026-12-31", "hours": ["00:00-24:00"]}
    week: JSON = {day: [*halves] for day in days}
    workspace = place.workspace
    await workspace.calendars.save({**BERLIN, "id": "halves", "week": week, "dates": [extra]})
    hourly = {**DAILY, "id": "hourly", "cron": "29,59 * * * *", "calendar": "halves"}
    await workspace.schedules.save(hourly)
    first, last = datetime(1901, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    for dry_run in (True, False):
        error = await refused(workspace.schedules.backfill("hourly", first, last, dry_run=dry_run))
        assert isinstance(error, InvalidInput)
        assert [(each.code, each.path) for each in error.problems] == [("TEN-2733", "$.to")]
        assert "too long" in error.problems[0].message
    assert await workspace.bulk.list() == []
    month = last - timedelta(days=31)
    counted = await workspace.schedules.backfill("hourly", month, last, dry_run=True)
    assert counted.matched == 0


async def test_no_more_instances_of_a_backfill_run_than_were_asked_for(place: Place) -> None:
    schedules = place.workspace.schedules
    await schedules.save(
        {**DAILY, "timezone": "UTC", "target": {"workflowId": "wait"}, "input": {}}
    )
    first, last = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 15, tzinfo=UTC)
    begun = await schedules.backfill("daily", first, last, concurrency=3)
    assert begun.id is not None

    async def started() -> int:
        return len(await schedules.ticks("daily"))

    await until(place.app, lambda: _is(started, 3))
    open_now = await place.workspace.instances(workflow="wait", status="WAITING_FOR_EVENT")
    assert len(open_now) <= 3
    for each in open_now:
        await place.workspace.at(each.id).cancel()
    await until(place.app, lambda: _is(started, 6))
    await place.workspace.bulk.cancel(begun.id)
    stopped = await ended(place, await place.workspace.bulk.get(begun.id))
    assert stopped.status == "cancelled"
    assert stopped.matched == 10


async def _is(count: Any, least: int) -> bool:  # noqa: ANN401 - an async function
    return bool(await count() >= least)


async def test_a_range_that_has_nothing_to_start_is_refused(place: Place) -> None:
    schedules = place.workspace.schedules
    await schedules.save(DAILY)
    now = datetime.now(UTC)
    for start, end in ((now, now - timedelta(days=1)), (now + timedelta(days=1),) * 2):
        error = await refused(schedules.backfill("daily", start, end))
        assert isinstance(error, InvalidInput)
        assert [each.code for each in error.problems] == ["TEN-2732"]


# -- definitions


async def test_removing_a_workflow_stops_its_schedules_and_says_how_many(place: Place) -> None:
    """DELETE hides the definition and stops its triggers and schedules; versions stay while an
    instance has them; `force` first cancels with compensation.
    """
    schedules = place.workspace.schedules
    await schedules.save(DAILY)
    await schedules.save({**DAILY, "id": "second"})
    await schedules.save({**DAILY, "id": "other", "target": {"workflowId": "wait"}})
    assert await place.workspace.remove_definition("double") == 2
    found = {each.id: (each.status, each.problem) for each in await schedules.list()}
    assert found["other"] == ("active", None)
    assert found["daily"] == ("error", "there is no workflow double")
    assert await place.workspace.remove_definition("refuse") == 0


# -- calendars


async def test_a_calendar_has_versions_and_days(place: Place) -> None:
    calendars = place.workspace.calendars
    first = await calendars.save(BERLIN)
    assert (first.id, first.version, first.timezone) == ("berlin", 1, "Europe/Berlin")
    assert list(first.week) == ["mon", "tue", "wed", "thu", "fri"]
    assert (await calendars.save(BERLIN)).version == 1
    second = await calendars.save({**BERLIN, "dates": []}, only_after=1)
    assert second.version == 2
    assert second.metadata.created_at == first.metadata.created_at
    assert (await calendars.get("berlin", 1)).dates == [
        {"date": "2026-12-24", "name": "Christmas Eve"}
    ]
    error = await refused(calendars.save(BERLIN, only_after=1))
    assert (type(error), error.code) == (Conflict, "TEN-3085")
    error = await refused(calendars.get("berlin", 7))
    assert "newest version is 2" in (error.advice or "")
    days = await calendars.days("berlin", date(2026, 12, 24), date(2026, 12, 26))
    assert [(each.date.day, each.hours, each.kind, each.name) for each in days] == [
        (24, ["09:00-17:00"], "week", None),
        (25, [], "holiday", "Christmas Day"),
        (26, [], "holiday", "Second Day of Christmas"),
    ]
    assert [each.id for each in await calendars.list()] == ["berlin"]
    error = await refused(calendars.get("berln"))
    assert (type(error), error.code) == (NotFound, "TEN-3083")
    assert "Did you mean `berlin`?" in (error.advice or "")


async def test_working_time_is_calculated_and_explained(place: Place) -> None:
    calendars = place.workspace.calendars
    await calendars.save(BERLIN)
    start = datetime(2026, 12, 23, 15, tzinfo=UTC)
    found = await calendars.add("berlin", start, "PT2H")
    assert found.at == datetime(2026, 12, 28, 9, tzinfo=UTC)
    assert (found.working_time, found.working_days) == ("PT2H", 2)
    empty = await calendars.between("berlin", start, start)
    assert (empty.working_time, empty.working_days) == ("PT0S", 0)
    assert (await calendars.add("berlin", start, "PT0S")).working_days == 0
    assert [(each.date.day, each.worked, each.reason) for each in found.days][:3] == [
        (23, "PT1H", None),
        (24, "PT0S", "Thu 24 Dec 2026 is a day off: Christmas Eve"),
        (25, "PT0S", "Fri 25 Dec 2026 is a holiday: Christmas Day"),
    ]
    assert (await calendars.between("berlin", start, found.at)).working_time == "PT2H"
    error = await refused(calendars.add("berlin", start, "soon"))
    assert isinstance(error, InvalidInput)
    assert [each.code for each in error.problems] == ["TEN-1015"]


async def test_a_file_of_dates_is_imported_and_says_what_was_left_out(place: Place) -> None:
    calendars = place.workspace.calendars
    await calendars.save(BERLIN)
    found = await calendars.import_dates("berlin", ICAL)
    assert found.imported == [{"date": "2026-12-28", "name": "Company holiday"}]
    assert found.left_out == [
        "A meeting: it does not last whole days",
        "Half a day: the calendar has 2026-12-24 already",
    ]
    assert found.calendar.version == 2
    [day] = await calendars.days("berlin", date(2026, 12, 28), date(2026, 12, 28))
    assert (day.hours, day.name) == ([], "Company holiday")
    again = await calendars.import_dates("berlin", ICAL.encode())
    assert (again.imported, again.calendar.version) == ([], 2)
    error = await refused(calendars.import_dates("berlin", "not a calendar"))
    assert isinstance(error, InvalidInput)
    assert [each.code for each in error.problems] == ["TEN-2718"]


async def test_a_calendar_that_is_used_is_not_removed_and_says_by_what(place: Place) -> None:
    workspace = place.workspace
    calendars = workspace.calendars
    await calendars.save(BERLIN)
    await calendars.save({"id": "heir", "extends": "berlin"})
    await workspace.schedules.save({**DAILY, "calendar": "berlin"})
    await workspace.deploy(
        {
            "id": "late",
            "steps": [
                {"stepId": "rest", "type": "DELAY", "duration": "PT4H", "calendar": "berlin"}
            ],
        }
    )
    uses = await calendars.uses("berlin")
    assert (uses.schedules, uses.calendars, uses.workflows) == (["daily"], ["heir"], ["late"])
    error = await refused(calendars.remove("berlin"))
    assert (type(error), error.code) == (Conflict, "TEN-3086")
    for name in ("schedule daily", "calendar heir", "workflow late"):
        assert name in error.message
    await calendars.remove("heir")
    await workspace.schedules.remove("daily")
    await workspace.remove_definition("late")
    await calendars.remove("berlin")
    assert await calendars.list() == []
    assert (await calendars.save(BERLIN)).version > 2


BAD_CALENDARS: dict[str, tuple[JSON, str]] = {
    "no working time": ({**BERLIN, "week": {}}, "TEN-2712"),
    "extends itself": ({"id": "berlin", "extends": "berlin"}, "TEN-2713"),
    "extends nothing": ({"id": "heir", "extends": "berln"}, "TEN-2714"),
    "unknown zone": ({**BERLIN, "timezone": "CEST"}, "TEN-2711"),
    "unknown country": ({**BERLIN, "holidays": [{"country": "XX"}]}, "TEN-2717"),
    "overlapping hours": (
        {**BERLIN, "week": {"mon": ["09:00-12:00", "11:00-13:00"]}},
        "TEN-2715",
    ),
    "breaks its heirs": ({**BERLIN, "timezone": "UTC", "extends": "heir"}, "TEN-2713"),
}


@pytest.mark.parametrize("name", BAD_CALENDARS)
async def test_a_bad_calendar_is_refused_with_advice(place: Place, name: str) -> None:
    """A calendar without working time, or that extends itself, is refused; one that is used is not
    deleted, and the refusal names its users.
    """
    calendars = place.workspace.calendars
    await calendars.save(BERLIN)
    await calendars.save({"id": "heir", "extends": "berlin"})
    document, code = BAD_CALENDARS[name]
    error = await refused(calendars.save(document))
    assert isinstance(error, InvalidInput)
    assert code in [each.code for each in error.problems]
    assert all(each.advice for each in error.problems)
    assert (await calendars.get("berlin")).version == 1


async def test_a_preview_of_rare_ticks_ends_after_fifty_years(place: Place) -> None:
    schedules = place.workspace.schedules
    document: Object = {"cron": "0 0 29 2 *", "target": {"taskId": "any"}}
    after = datetime(2026, 1, 1, tzinfo=UTC)
    found = await schedules.preview_document(document, count=200, after=after)
    assert [each.nominal.year for each in found.items] == list(range(2028, 2073, 4))
    later: Object = {**document, "startDate": "2190-01-01T00:00:00Z"}
    found = await schedules.preview_document(later, count=2, after=after)
    assert [each.nominal.year for each in found.items] == [2192, 2196]
    assert isinstance(await refused(schedules.preview_document(document, count=201)), InvalidInput)


@pytest.mark.parametrize("year", [1, 9999])
async def test_moments_at_the_edge_of_time_are_refused_by_their_field(
    place: Place, year: int
) -> None:
    workspace = place.workspace
    await workspace.calendars.save(BERLIN)
    await workspace.schedules.save(DAILY)
    edge = datetime(year, 1, 1, tzinfo=UTC)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    calls = {
        "$.from": workspace.calendars.add("berlin", edge, "P1D"),
        "$.to": workspace.calendars.between("berlin", now, edge),
        "$.at": workspace.schedules.trigger("daily", edge),
    }
    if year == 1:
        await _refused_by({"$.from": workspace.schedules.backfill("daily", edge, now)})
    await _refused_by(calls)
    await _refused_by({"$.from": workspace.schedules.preview("daily", after=edge)})


async def _refused_by(calls: dict[str, Any]) -> None:
    for path, call in calls.items():
        error = await refused(call)
        assert isinstance(error, InvalidInput)
        assert [(each.code, each.path) for each in error.problems] == [("TEN-2007", path)]


async def test_centuries_are_refused_before_they_are_counted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[object] = []
    calendars = place.workspace.calendars
    await calendars.save(BERLIN)
    monkeypatch.setattr(stored_calendars, "add", lambda *given: counted.append(given))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for duration in ("PT100000H", "P4000D", "P600W", "P100Y"):
        error = await refused(calendars.add("berlin", start, duration))
        assert isinstance(error, InvalidInput)
        found = [(each.code, each.path) for each in error.problems]
        assert found == [("TEN-2716", "$.duration")], duration
    assert counted == []


async def test_a_calculation_in_a_calendar_spans_ten_years_at_most(place: Place) -> None:
    calendars = place.workspace.calendars
    await calendars.save(BERLIN)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert (await calendars.between("berlin", start, start.replace(year=2036))).working_days > 2_000
    for call, path in (
        (calendars.between("berlin", start, start.replace(year=2037)), "$.to"),
        (calendars.add("berlin", start, "P11Y"), "$.duration"),
    ):
        error = await refused(call)
        assert isinstance(error, InvalidInput)
        assert [(each.code, each.path) for each in error.problems] == [("TEN-2716", path)]
