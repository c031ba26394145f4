"""A test skips a month and sees what a schedule has started."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tenuto import InvalidDefinition, WorkflowFunction, task, workflow
from tenuto.model.json import Object
from tenuto.testing import Engine
from tenuto.workspace.schedule_values import TickRecord

BEGIN = datetime(2026, 11, 30, 12, tzinfo=UTC)
OFFICE: Object = {
    "id": "office",
    "timezone": "Europe/Berlin",
    "week": {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")},
    "holidays": [{"country": "DE"}],
}


@task
def report_on(day: str) -> str:
    return f"report of {day}"


@workflow("reports")
def reports(day: str) -> str:
    return report_on(day)


def days_of(ticks: list[TickRecord], outcome: str = "started") -> list[int]:
    return [each.nominal.day for each in ticks if each.outcome == outcome]


def test_a_month_is_skipped_and_every_tick_has_run_once() -> None:
    with Engine(at=BEGIN) as engine:
        engine.deploy(reports)
        saved = engine.schedule(
            {
                "id": "daily",
                "cron": "30 2 * * *",
                "timezone": "Europe/Berlin",
                "target": {"workflowId": "reports"},
                "input": "{{ schedule.nominal }}",
            }
        )
        assert saved.next_execution == datetime(2026, 12, 1, 1, 30, tzinfo=UTC)
        engine.skip(days=31)
        ticks = engine.ticks("daily")
        assert days_of(ticks) == list(range(1, 32))
        assert len(engine.calls(report_on)) == 31
        assert engine.calls(report_on)[0].input == "2026-12-01T01:30:00.000Z"
        assert [each.id for each in engine.instances] == [each.instance_id for each in ticks]


def test_a_crash_on_the_way_starts_no_tick_twice() -> None:
    with Engine(at=BEGIN) as engine:
        engine.deploy(reports)
        engine.schedule(
            {
                "id": "daily",
                "cron": "30 2 * * *",
                "target": {"workflowId": "reports"},
                "input": "x",
                "overlap": "allow",
                "catchUp": {"mode": "all", "window": "P7D"},
            }
        )
        engine.crash_once(at=3)
        engine.skip(days=3)
        engine.recover()
        engine.skip(days=1)
        assert days_of(engine.ticks("daily")) == [1, 2, 3, 4]
        assert len(engine.calls(report_on)) == 4


def test_a_schedule_follows_the_calendar_of_the_test() -> None:
    with Engine(at=BEGIN, calendars=[OFFICE]) as engine:
        engine.deploy(reports)
        engine.schedule(
            {
                "id": "daily",
                "cron": "0 9 * * *",
                "timezone": "Europe/Berlin",
                "calendar": "office",
                "target": {"workflowId": "reports"},
                "input": "x",
            }
        )
        engine.skip(days=31)
        started = days_of(engine.ticks("daily"))
        assert [day for day in (24, 25, 26, 27, 28) if day in started] == [24, 28]


def scheduled(*, cron: str | None = None, timezone: str | None = None) -> WorkflowFunction[[], str]:
    """The same workflow function, with other times."""

    @workflow("nightly", cron=cron, timezone=timezone)
    def nightly() -> str:
        return report_on("today")

    return nightly


def test_a_function_with_cron_has_a_schedule_that_goes_when_the_argument_goes() -> None:
    with Engine(at=BEGIN) as engine:
        engine.deploy(scheduled(cron="30 2 * * *", timezone="Europe/Berlin"))
        engine.schedule({"id": "mine", "cron": "0 0 1 1 *", "target": {"workflowId": "nightly"}})
        engine.skip(days=2)
        assert days_of(engine.ticks("nightly.cron")) == [1, 2]

        def saved() -> dict[str, str | None]:
            found = engine.lives.ask(lambda app: app.schedules.list())
            assert found is not None
            return {each.id: each.cron for each in found}

        engine.deploy(scheduled(cron="30 3 * * *"))
        assert saved() == {"mine": "0 0 1 1 *", "nightly.cron": "30 3 * * *"}
        engine.deploy(scheduled())
        assert saved() == {"mine": "0 0 1 1 *"}


def test_an_edited_schedule_of_a_function_stays_its_own() -> None:
    with Engine(at=BEGIN) as engine:
        engine.deploy(scheduled(cron="30 2 * * *"))
        edited: Object = {
            "id": "nightly.cron",
            "cron": "0 5 * * *",
            "target": {"workflowId": "nightly"},
        }
        engine.schedule(edited)
        engine.deploy(scheduled(cron="30 3 * * *"))
        found = engine.lives.ask(lambda app: app.schedules.get("nightly.cron"))
        assert found is not None
        assert (found.cron, found.metadata.definition) == ("30 3 * * *", "nightly")


def test_a_schedule_of_somebody_else_is_not_taken_over() -> None:
    with Engine(at=BEGIN) as engine:
        engine.deploy(scheduled())
        own: Object = {
            "id": "nightly.cron",
            "cron": "0 0 1 1 *",
            "target": {"workflowId": "nightly"},
        }
        engine.schedule(own)
        engine.deploy(scheduled())
        with pytest.raises(Exception, match="TEN-3081"):
            engine.deploy(scheduled(cron="30 2 * * *"))
        assert engine.lives.ask(lambda app: app.schedules.get("nightly.cron")) is not None


@pytest.mark.parametrize(
    ("times", "code"),
    [
        ({"cron": "30 2 * *"}, "TEN-2720"),
        ({"cron": "30 2 * * *", "timezone": "Berlin"}, "TEN-2711"),
        ({"timezone": "Europe/Berlin"}, "TEN-1802"),
    ],
)
def test_times_that_are_wrong_are_found_with_the_line_of_the_function(
    times: dict[str, str], code: str
) -> None:
    flow = scheduled(**times)
    with pytest.raises(InvalidDefinition) as refused:
        flow.checked()
    [problem] = refused.value.problems
    assert problem.code == code
    assert "test_schedules.py:" in problem.path
    with Engine() as engine, pytest.raises(Exception, match=code):
        engine.deploy(flow)
