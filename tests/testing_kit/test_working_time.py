"""Working time in tests: calendars are given to the engine, and time passes on its clock."""

from __future__ import annotations

from datetime import UTC, datetime

from tenuto.model.json import Object
from tenuto.tasks.registry import Registry
from tenuto.testing import Engine

FRIDAY = datetime(2026, 11, 13, 15, tzinfo=UTC)  # 16:00 in Berlin
OFFICE: Object = {
    "id": "office",
    "timezone": "Europe/Berlin",
    "week": {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")},
}
SHORT: Object = {**OFFICE, "week": {"mon": ["09:00-10:00"]}}


REGISTRY = Registry()


@REGISTRY.task
def apologise() -> None:
    """Say sorry."""


def answered(**settings: object) -> Object:
    step: Object = {"stepId": "answer", "type": "EVENT_WAIT", "eventPattern": "answered"}
    late: Object = {"stepId": "late", "type": "TASK", "taskId": "apologise"}
    timeout: Object = {"duration": "PT4H", "calendar": "office"}
    wait: Object = {**step, "eventTimeout": timeout, "transitions": {"timeout": "late"}}
    return {"id": "ticket", "steps": [wait, late], **settings}  # type: ignore[dict-item]


def test_a_wait_is_open_for_working_hours() -> None:
    with Engine(tasks=REGISTRY, at=FRIDAY, calendars=[OFFICE]) as engine:
        run = engine.start(answered())
        engine.skip(days=2, hours=18, minutes=59)  # Monday, one minute before noon in Berlin
        assert run.status == "WAITING_FOR_EVENT"
        engine.skip(hours=1, minutes=1)
        assert run.finished().path == ["answer", "late"]


def test_what_has_begun_keeps_its_moment_when_the_calendar_changes() -> None:
    with Engine(tasks=REGISTRY, at=FRIDAY) as engine:
        assert engine.calendar(OFFICE) == 1
        before = engine.start(answered())
        assert engine.calendar(SHORT) == 2
        after = engine.start(answered())
        engine.skip(days=2, hours=20)
        assert (before.status, after.status) == ("COMPLETED", "WAITING_FOR_EVENT")
        engine.recover()
        engine.skip(days=28)
        assert after.status == "COMPLETED"


def test_a_calendar_that_is_not_given_fails_the_step() -> None:
    with Engine(tasks=REGISTRY, at=FRIDAY) as engine:
        run = engine.start(answered())
        assert run.status == "FAILED"
        assert run.error is not None
        assert run.error["code"] == "UNKNOWN_CALENDAR"


def test_an_sla_is_told_once_whatever_crashes() -> None:
    sla: Object = {"warnAfter": "PT1H", "breachAfter": "PT2H", "calendar": "office"}
    with Engine(tasks=REGISTRY, at=FRIDAY, calendars=[OFFICE]) as engine:
        run = engine.start(answered(options={"sla": sla}))
        engine.skip(hours=1)
        engine.recover()
        engine.crash_once(1, "unanswered")
        engine.skip(days=2, hours=17, minutes=30)
        engine.recover()
        engine.skip(days=1)
        assert run.status == "COMPLETED"
        told = [line for line in run.timeline.splitlines() if "its SLA" in line]
        assert [line.partition("its SLA ")[2] for line in told] == ["is at risk", "is missed"]


def test_a_twin_has_the_same_calendars() -> None:
    with Engine(tasks=REGISTRY, at=FRIDAY, calendars=[OFFICE]) as engine:
        twin = engine.twin()
        assert twin.start(answered()).status == "WAITING_FOR_EVENT"
        twin.close()
