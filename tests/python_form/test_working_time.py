"""Working time and SLAs in workflow functions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenuto import (
    Escalate,
    InvalidDefinition,
    Retry,
    WorkflowFunction,
    approval,
    sleep,
    task,
    wait_event,
    workflow,
)
from tenuto.model.errors import TenutoError
from tenuto.model.working_time import WorkingDuration
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.worker_task import worker_task


@task(name="working.pay", retry=Retry(4, "P1D", calendar="office"))
def pay(amount: int) -> int:
    return amount


def config_of(made: WorkflowFunction[..., Any], step: str) -> dict[str, Any]:
    nodes: Any = made.definition()["nodes"]
    [found] = [each["config"] for each in nodes if each["id"] == step]
    return dict(found)


def test_every_duration_may_name_a_calendar() -> None:
    promise: dict[str, Any] = {"warnAfter": "PT1H", "breachAfter": "P1D", "calendar": "office"}

    @workflow("working", options={"sla": promise}, retry=Retry(first="PT2H", calendar="office"))
    def made(amount: int) -> int:
        sleep(days=3, hours=72, calendar="office")
        wait_event("paid", timeout="P2D", calendar="office")
        approval(
            users="ann",
            deadline="P2D",
            reminders=["PT4H"],
            escalate=Escalate(after=timedelta(hours=9), users="zoe"),
            calendar="office",
        )
        return pay.options(timeout="PT4H", calendar="office", sla=promise).named("done")(amount)

    assert config_of(made, "sleep") == {"duration": "P3DT72H", "calendar": "office"}
    assert config_of(made, "wait_event")["eventTimeout"] == {
        "duration": "P2D",
        "calendar": "office",
    }
    asked = config_of(made, "approval")
    assert (asked["deadline"], asked["calendar"]) == ("P2D", "office")
    assert asked["escalate"]["after"] == "PT9H"
    paid = config_of(made, "done")
    assert paid["timeout"] == {"duration": "PT4H", "calendar": "office"}
    assert paid["sla"] == promise
    options: Any = made.definition()["workflowOptions"]
    assert options["sla"] == promise
    assert options["retry"] == {"initialDelay": "PT2H", "calendar": "office"}


def test_a_retry_in_working_time_travels_with_its_task() -> None:
    assert isinstance(pay, TaskFunction)
    told = worker_task(pay).retry
    assert told is not None
    assert (told["initialDelay"], told["maxDelay"], told["calendar"]) == ("P1D", "P1D", "office")
    capped = Retry(first="PT2H", cap="P1D", calendar="office").policy
    assert capped.longest == WorkingDuration(days=1)  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [timedelta(days=1), timedelta(hours=30)])
def test_a_timedelta_does_not_tell_working_days_from_hours(value: timedelta) -> None:
    def ambiguous() -> None:
        wait_event("paid", timeout=value, calendar="office")

    with pytest.raises(InvalidDefinition, match="may be working days or hours of work"):
        workflow(ambiguous)
    with pytest.raises(TenutoError, match="may be working days or hours of work"):
        Retry(first=value, calendar="office")


def test_a_calendar_without_a_duration_is_refused() -> None:
    def nothing(amount: int) -> int:
        wait_event("paid", calendar="office")
        return pay.options(calendar="office")(amount)

    with pytest.raises(InvalidDefinition) as refused:
        workflow(nothing)
    assert len(refused.value.problems) == 2


def test_a_part_of_a_working_day_is_refused() -> None:
    def half() -> None:
        sleep(days=1.5, calendar="office")

    with pytest.raises(InvalidDefinition, match="has no length"):
        workflow(half)
