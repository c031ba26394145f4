"""Documents of schedules: read whole, or refused with all that is wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.model.codes import CATALOGUE
from tenuto.model.json import JSON, Object
from tenuto.schedules import (
    CallbackRetry,
    CallbackTarget,
    CatchUp,
    Dst,
    OneTime,
    Recurring,
    Schedule,
    TaskTarget,
)
from tenuto.schedules.documents import ReadSchedule, read_schedule, write_schedule
from tests.calendars.samples import at, office

NOW = at("2026-11-17 10:00")
PLAIN: Object = {"id": "nightly", "cron": "0 9 * * *", "target": {"workflowId": "report"}}
FULL: Object = {
    "id": "nightly",
    "name": "Nightly",
    "type": "recurring",
    "cron": "0 9 * * MON-FRI",
    "timezone": "Europe/Berlin",
    "startDate": "2026-12-01T00:00:00.000Z",
    "endDate": "2027-12-01T00:00:00.000Z",
    "dst": {"missing": "skip", "repeated": "both"},
    "target": {"workflowId": "report", "version": 3},
    "input": {"day": "{{schedule.nominal}}"},
    "overlap": "queue",
    "catchUp": {"mode": "all", "window": "PT6H"},
    "jitter": "PT5M",
    "calendar": "office",
    "onNonWorking": "next",
    "metadata": {"description": "Every night"},
}


def read(document: JSON) -> ReadSchedule:
    return read_schedule(document, {"office": office()}, NOW)


def schedule(document: Object) -> Schedule:
    found = read(document)
    assert found.problems == ()
    assert found.schedule is not None
    return found.schedule


def problems(document: JSON) -> list[tuple[str, str]]:
    found = read(document)
    assert found.schedule is None
    assert all(each.message and each.advice.endswith(".") for each in found.problems)
    assert all(each.code in CATALOGUE for each in found.problems)
    return [(each.code, each.path) for each in found.problems]


def test_a_schedule_is_written_as_it_was_read() -> None:
    assert write_schedule(schedule(FULL)) == FULL
    once: Object = {
        "executeAt": "2027-01-01T09:00:00.250Z",
        "target": {"taskId": "pack"},
        "input": None,
    }
    assert schedule(write_schedule(schedule(once))) == schedule(once)


def test_defaults_are_those_of_the_contract() -> None:
    """`Schedule {id?, name?, type: "recurring"|"one-time", cron | executeAt, timezone (default
    UTC), startDate?, endDate?, target: {workflowId, version?} | {taskId} | {callbackUrl},
    input?, overlap: allow|skip|queue|cancel-running (default skip), catchUp: {mode:
    none|one|all, window?} (default one within P1D), jitter?, dst: {missing: next|skip,
    repeated: first|both} (default next, first), calendar?, onNonWorking: skip|next|previous
    (default skip), metadata {createdBy, createdAt, lastModifiedAt, description}}` and,
    read-only, `status (active|paused|completed|error), nextExecution, lastExecuted,
    lastInstanceId, note, problem`.
    """
    found = schedule(PLAIN)
    assert isinstance(found.timing, Recurring)
    assert found.timing.timezone == "UTC"
    assert found.timing.dst == Dst(missing="next", repeated="first")
    assert found.overlap == "skip"
    assert found.catch_up == CatchUp(mode="one", window=timedelta(days=1))
    assert found.on_non_working == "skip"


def test_an_answer_can_be_sent_back() -> None:
    state: Object = {
        "status": "paused",
        "nextExecution": None,
        "lastExecuted": "2026-11-16T09:00:00.000Z",
        "lastInstanceId": "i",
        "note": "holidays",
        "problem": None,
    }
    assert schedule({**FULL, **state}) == schedule(FULL)


def test_a_schedule_definition_is_read() -> None:
    """Schedules: seed 000's `ScheduleDefinition` plus `status (active|paused|completed|error),
    nextExecution, lastExecuted, overlap, catchUp, jitter, calendar`; seed 003's
    `ScheduleRequest` (callback target, retry policy) and its enum spelling are accepted.
    """
    found = schedule(
        {
            "id": "s",
            "type": "recurring",
            "target": {"type": "task", "id": "pack"},
            "timing": {"cronExpression": "0 9 * * *", "timezone": "Europe/Berlin"},
            "input": {"a": 1},
            "metadata": {"createdBy": "key:1", "description": "d"},
        }
    )
    assert found.target == TaskTarget(task_id="pack")
    assert isinstance(found.timing, Recurring)
    assert found.timing.timezone == "Europe/Berlin"
    assert (found.input, found.description) == ({"a": 1}, "d")


def test_a_schedule_request_is_read() -> None:
    """Schedules: seed 000's `ScheduleDefinition` plus `status (active|paused|completed|error),
    nextExecution, lastExecuted, overlap, catchUp, jitter, calendar`; seed 003's
    `ScheduleRequest` (callback target, retry policy) and its enum spelling are accepted.
    """
    request: Object = {
        "scheduleId": "sched-12345",
        "type": "ONE_TIME",
        "executeAt": "2027-08-02T10:00:00Z",
        "callbackUrl": "http://orchestrator.example/callback",
        "payload": {"stepId": "check"},
        "retryPolicy": {"maxRetries": 3, "initialDelay": 5000, "backoffMultiplier": 2.0},
    }
    found = schedule(request)
    assert (found.id, found.timing) == ("sched-12345", OneTime(at=at("2027-08-02 10:00")))
    retry = CallbackRetry(max_retries=3, initial_delay=timedelta(seconds=5), backoff_multiplier=2.0)
    assert found.target == CallbackTarget(callback_url=str(request["callbackUrl"]), retry=retry)
    assert found.input == {"stepId": "check"}
    recurring = schedule({**request, "type": "RECURRING", "cronExpression": "@daily"})
    assert isinstance(recurring.timing, Recurring)
    assert recurring.timing.start == at("2027-08-02 10:00")


def test_a_date_is_the_whole_day_in_the_zone_of_the_schedule() -> None:
    dates: Object = {"startDate": "2027-03-28", "endDate": "2027-03-28"}
    timing = schedule({**PLAIN, "timezone": "Europe/Berlin", **dates}).timing
    assert isinstance(timing, Recurring)
    assert timing.start == at("2027-03-27 23:00")
    assert timing.end == at("2027-03-28 21:59:59.999")  # a day of 23 hours


@pytest.mark.parametrize(
    ("fields", "code", "path", "advice"),
    [
        ({"cron": "0 9 * *"}, "TEN-2720", "$.cron", "0 9 * * MON-FRI"),
        ({"cron": "0 0 30 2 *"}, "TEN-2720", "$.cron", "months"),
        ({"cron": "0 0 31W 4 *"}, "TEN-2720", "$.cron", "months"),
        ({"cron": "60 9 * * *"}, "TEN-2720", "$.cron", "0 to 59"),
        ({"cron": "0 24 * * *"}, "TEN-2720", "$.cron", "An hour is 0 to 23"),
        ({"cron": "0 9 * * friday"}, "TEN-2720", "$.cron", "`FRI`"),
        ({"cron": "0 22-2 * * *"}, "TEN-2720", "$.cron", "`22-23,0-2`"),
        ({"cron": "*/90 * * * *"}, "TEN-2720", "$.cron", "1 to 60"),
        ({"cron": "*/0 * * * *"}, "TEN-2720", "$.cron", "1 to 60"),
        ({"cron": "0 9 * * 5#6"}, "TEN-2720", "$.cron", "#5"),
        ({"cron": "0 9 * * L"}, "TEN-2720", "$.cron", "5L"),
        ({"cron": "0 9 L-31 * *"}, "TEN-2720", "$.cron", "L-30"),
        ({"cron": "0 ? * * *"}, "TEN-2720", "$.cron", "`*`"),
        ({"cron": "0 , * * *"}, "TEN-2720", "$.cron", ""),
        ({"cron": "@every 5m"}, "TEN-2720", "$.cron", "*/5"),
        ({"cron": "@reboot"}, "TEN-2720", "$.cron", "@daily"),
        ({"cron": "0 9 * * *" + " " * 600}, "TEN-2720", "$.cron", ""),
        ({"cron": 9}, "TEN-1010", "$.cron", ""),
        ({"timezone": "Europe/Berln"}, "TEN-2711", "$.timezone", "`Europe/Berlin`"),
        ({"executeAt": "2027-01-01T00:00:00Z"}, "TEN-2721", "$", "cron"),
        ({"cronExpression": "@daily"}, "TEN-2729", "$.cronExpression", ""),
        ({"timing": {"cronExpression": "@daily"}}, "TEN-2729", "$.timing.cronExpression", ""),
        ({"scheduleId": "x"}, "TEN-2729", "$.scheduleId", ""),
        ({"type": "one-time"}, "TEN-2721", "$.type", ""),
        ({"type": "weekly"}, "TEN-1013", "$.type", "`recurring`"),
        ({"startDate": "2027-01-02", "endDate": "2027-01-01"}, "TEN-2722", "$.endDate", ""),
        ({"startDate": "2027-01-02T00:00:00"}, "TEN-1016", "$.startDate", "Z"),
        ({"endDate": "2027-02-30"}, "TEN-1016", "$.endDate", ""),
        ({"endDate": "2026-11-16"}, "TEN-2725", "$", ""),
        ({"target": {}}, "TEN-2723", "$.target", "workflowId"),
        ({"target": {"workflowId": "a", "taskId": "b"}}, "TEN-2723", "$.target", ""),
        ({"target": "report"}, "TEN-1010", "$.target", "workflowId"),
        ({"target": {"type": "job", "id": "x"}}, "TEN-1013", "$.target.type", "workflow"),
        ({"target": {"callbackUrl": "x"}}, "TEN-2301", "$.target.callbackUrl", "https"),
        ({"callbackUrl": "https://a.example"}, "TEN-2723", "$.callbackUrl", ""),
        ({"retryPolicy": {}}, "TEN-2723", "$.retryPolicy", "callbackUrl"),
        ({"overlap": "cancel"}, "TEN-1013", "$.overlap", "`cancel-running`"),
        ({"catchUp": {"mode": "al"}}, "TEN-1013", "$.catchUp.mode", "`all`"),
        ({"catchUp": {"window": "P1M"}}, "TEN-1015", "$.catchUp.window", "P30D"),
        ({"jitter": "P2D"}, "TEN-2724", "$.jitter", "PT5M"),
        ({"jitter": "-PT1S"}, "TEN-1015", "$.jitter", ""),
        ({"dst": {"missing": "later"}}, "TEN-1013", "$.dst.missing", ""),
        ({"calendar": "ofice"}, "TEN-2726", "$.calendar", "`office`"),
        ({"onNonWorking": "next"}, "TEN-2727", "$.onNonWorking", "calendar"),
        ({"cron": "0 3 * * *", "calendar": "office"}, "TEN-2725", "$.calendar", "onNonWorking"),
        ({"id": "a b"}, "TEN-1020", "$.id", ""),
        ({"tz": "UTC"}, "TEN-1012", "$.tz", ""),
        ({"metadata": {"description": []}}, "TEN-1010", "$.metadata.description", ""),
    ],
)
def test_bad_input_is_refused_with_advice(
    fields: Object, code: str, path: str, advice: str
) -> None:
    """What users do wrong is refused at save with advice, all of it at once: cron that never
    fires, an unknown zone, an end before the start, a target or a calendar that does not exist,
    input that does not fit.
    """
    document = {**PLAIN, **fields}
    assert problems(document) == [(code, path)]
    (problem,) = read(document).problems
    assert advice in problem.advice


@pytest.mark.parametrize(
    ("fields", "code", "path"),
    [
        ({}, "TEN-2721", "$"),
        ({"executeAt": "2026-11-15T10:00:00Z"}, "TEN-2725", "$.executeAt"),
        ({"executeAt": "2027-01-01"}, "TEN-1016", "$.executeAt"),
        ({"executeAt": "2027-01-01T00:00:00Z", "endDate": "2027-01-01"}, "TEN-2721", "$.endDate"),
        (
            {"executeAt": "2026-12-25T10:00:00Z", "calendar": "office"},
            "TEN-2725",
            "$.calendar",
        ),
    ],
)
def test_single_moments_that_cannot_be(fields: Object, code: str, path: str) -> None:
    assert problems({"target": {"taskId": "x"}, **fields}) == [(code, path)]


def test_a_moment_that_has_just_passed_is_caught_up() -> None:
    schedule({"executeAt": "2026-11-17T09:00:00Z", "target": {"taskId": "x"}})


@pytest.mark.parametrize("document", [None, [], "x", 1])
def test_what_is_no_object_is_refused(document: JSON) -> None:
    assert problems(document) == [("TEN-1010", "$")]


def test_all_that_is_wrong_is_said_at_once() -> None:
    document: Object = {
        "cron": "61 25 * * *",
        "timezone": "Mars/Base",
        "target": {"workflowId": ""},
        "overlap": "x",
        "catchUp": {"window": "x"},
        "jitter": "x",
        "unknown": 1,
    }
    assert len(problems(document)) == 8


def test_a_pause_while_an_hour_is_repeated_is_a_warning() -> None:
    hourly: Object = {**PLAIN, "cron": "0 * * * *", "timezone": "Europe/Berlin"}
    found = read(hourly)
    assert found.schedule is not None
    assert [(each.code, each.severity) for each in found.problems] == [("TEN-2728", "warning")]
    others: list[Object] = [{"dst": {"repeated": "both"}}, {"timezone": "Asia/Kathmandu"}]
    assert [read({**hourly, **each}).problems for each in others] == [(), ()]
