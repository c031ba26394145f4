"""Durations beside a calendar in documents: kept as written, and found for the check at save."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenuto.definition import check, compile_definition, to_graph_form, to_steps_form
from tenuto.definition.calendar_places import calendar_places
from tenuto.model.graph import Delay
from tenuto.model.policy import BusinessRetryPolicy
from tenuto.model.working_time import WorkingDuration, parse_working_duration, written

HOURS = timedelta(hours=1)
WORK: dict[str, Any] = {"stepId": "a", "type": "TASK", "taskId": "work"}


def test_days_and_hours_are_kept_apart() -> None:
    for duration, kept in (
        ("P3D", WorkingDuration(days=3)),
        ("PT72H", WorkingDuration(span=72 * HOURS)),
        (7_200_000, WorkingDuration(span=2 * HOURS)),
        ("1w2d3h", WorkingDuration(weeks=1, days=2, span=3 * HOURS)),
    ):
        step: Any = {"stepId": "d", "type": "DELAY", "duration": duration, "calendar": "office"}
        [node] = compile_definition({"id": "w", "steps": [step]}).graph.nodes
        assert isinstance(node.config, Delay)
        assert node.config.duration == kept


@pytest.mark.parametrize(
    "text", ["P3D", "PT72H", "P1M2W3DT4H5M6S", "PT0.25S", "P1W", "PT90M", "PT0S", "P2Y"]
)
def test_a_working_duration_is_written_as_it_is_read(text: str) -> None:
    duration = parse_working_duration(text)
    assert parse_working_duration(written(duration)) == duration


RETRIES: list[dict[str, Any]] = [
    {},
    {"initialDelay": "P1D"},
    {"initialDelay": "PT24H", "maxDelay": "PT24H"},
    {"initialDelay": "P1D", "maxDelay": "PT30S"},
    {"initialDelay": "P1D", "maxDelay": "P3D", "maxAttempts": 9},
    {"maxDelay": "PT2H"},
]


@pytest.mark.parametrize("retry", RETRIES)
def test_a_retry_in_a_calendar_comes_back_from_both_forms(retry: dict[str, Any]) -> None:
    step = {**WORK, "retry": {**retry, "calendar": "office"}}
    definition = compile_definition({"id": "w", "steps": [step]})
    assert isinstance(definition.graph.nodes[0].retry, BusinessRetryPolicy)
    for form in (to_graph_form, to_steps_form):
        assert compile_definition(form(definition)).graph == definition.graph


def test_without_a_longest_delay_the_first_one_is_not_cut() -> None:
    """One in seconds would end every delay in working time after half a minute."""
    step = {**WORK, "retry": {"initialDelay": "P1D", "calendar": "office"}}
    retry = compile_definition({"id": "w", "steps": [step]}).graph.nodes[0].retry
    assert isinstance(retry, BusinessRetryPolicy)
    assert retry.longest == WorkingDuration(days=1)


def test_the_dependency_form_takes_calendars() -> None:
    wait = {
        "stepId": "w",
        "type": "EVENT_WAIT",
        "eventPattern": "paid",
        "eventTimeout": {"duration": "P1D", "calendar": "office"},
        "dependsOn": ["a"],
    }
    document: Any = {"id": "w", "steps": [{**WORK, "sla": {"breachAfter": "P1D"}}, wait]}
    assert [each for each in check(document).problems if each.severity == "error"] == []


def test_every_calendar_is_found_with_its_first_place() -> None:
    there = {"duration": "P1D", "calendar": "b"}
    steps = [
        {**WORK, "timeout": {"duration": "PT1H", "calendar": "a"}, "transitions": {"default": "q"}},
        {
            "stepId": "q",
            "type": "APPROVAL",
            "assignees": {"users": ["ann"]},
            "deadline": there,
            "reminders": ["P1D", {"duration": "P2D", "calendar": "c"}],
            "escalate": {"after": "P1D", "assignees": {"users": ["b"]}, "calendar": "d"},
            "calendar": "a",
            "sla": {"breachAfter": "P9D", "calendar": "e"},
        },
    ]
    undo = {
        "stepId": "u",
        "compensationFor": "a",
        "taskId": "undo",
        "retry": {"calendar": "f"},
        "timeout": {"duration": "PT1H", "calendar": "g"},
    }
    options = {"timeout": {"duration": "P1D", "calendar": "h"}, "retry": {"calendar": "i"}}
    document: Any = {"id": "w", "steps": steps, "compensationSteps": [undo], "options": options}
    assert {tuple(each) for each in calendar_places(compile_definition(document))} == {
        ("a", "$.steps[0].timeout.calendar"),
        ("b", "$.steps[1].deadline.calendar"),
        ("c", "$.steps[1].reminders[1].calendar"),
        ("d", "$.steps[1].escalate.calendar"),
        ("e", "$.steps[1].sla.calendar"),
        ("f", "$.compensationSteps[0].retry.calendar"),
        ("g", "$.compensationSteps[0].timeout.calendar"),
        ("h", "$.options.timeout.calendar"),
        ("i", "$.options.retry.calendar"),
    }


def test_a_time_out_of_no_working_time_is_refused() -> None:
    document: Any = {"id": "w", "steps": [{**WORK, "timeout": {"duration": 0, "calendar": "o"}}]}
    [problem] = check(document).problems
    assert (problem.code, problem.path) == ("TEN-1015", "$.steps[0].timeout.duration")


@pytest.mark.parametrize(
    ("sla", "code"),
    [
        ({"warnAfter": "P1M", "breachAfter": "P27D"}, "TEN-1026"),
        ({"warnAfter": "PT4H", "breachAfter": "PT4H"}, "TEN-1026"),
        ({"warnAfter": "PT0S"}, "TEN-1015"),
        ({"warnAfter": "soon"}, "TEN-1015"),
        ({}, "TEN-1018"),
        ("P1D", "TEN-1010"),
        ({"warnAfter": "PT1H", "breachAfter": "P1D", "breech": 1}, "TEN-1012"),
        ({"warnAfter": "P30D", "breachAfter": "P1M"}, None),
        ({"warnAfter": "PT9H", "breachAfter": "P1D", "calendar": "office"}, None),
        ({"warnAfter": "P1D", "breachAfter": "PT9H", "calendar": "office"}, None),
    ],
)
def test_an_sla_that_cannot_warn_is_refused(sla: object, code: str | None) -> None:
    """Whether a working day is longer than nine hours is known to the calendar alone."""
    document: Any = {"id": "w", "steps": [{**WORK, "sla": sla}]}
    found = [each.code for each in check(document).problems if each.severity == "error"]
    assert found == ([] if code is None else [code])
