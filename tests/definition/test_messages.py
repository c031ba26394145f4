"""What a newcomer writes wrongly is told together with what to write instead."""

from __future__ import annotations

import pytest

from tenuto.definition import check
from tests.definition.values import Value


def task(name: str = "a", **fields: Value) -> dict[str, Value]:
    return {"stepId": name, "type": "TASK", "taskId": "t", **fields}


def node(**fields: Value) -> dict[str, Value]:
    return {"id": "a", "type": "task", "config": {"taskId": "t"}, **fields}


TOLD: dict[str, tuple[Value, str, str]] = {
    "id of a step": ({"steps": [{"id": "a", "type": "TASK", "taskId": "t"}]}, "id", "`stepId`"),
    "next": ({"steps": [task(next="b")]}, "next", "`transitions`"),
    "needs": ({"steps": [task(needs="b")]}, "needs", "`dependsOn`"),
    "a condition": ({"steps": [task(condition="true")]}, "condition", "`when`"),
    "tasks": ({"tasks": []}, "tasks", "`steps`"),
    "a bare transition": ({"steps": [task(transitions="b")]}, "transitions", '{"default": "b"}'),
    "a number of retries": ({"steps": [task(retry=3)]}, "retry", "maxAttempts"),
    "a truth as a condition": ({"steps": [task(when=True)]}, "when", '`"true"`'),
    "a quoted number": ({"steps": [task(retry={"maxAttempts": "3"})]}, "", "without quotes"),
    "braces": ({"steps": [task(when="{{ctx.input.a}}")]}, "when", "leave `{{` and `}}` out"),
    "a bare input": ({"steps": [task(when="input.a > 5")]}, "when", "`ctx.input`"),
    "and": ({"steps": [task(when="ctx.input.a and true")]}, "when", "`&&`"),
    "a dash": ({"steps": [task(input="{{steps.my-own-step.output}}")]}, "", "steps['my-own-step']"),
    "a shell's braces": ({"steps": [task(input="${ctx.input.x}")]}, "input", "`{{ctx.input.x}}`"),
    "no braces": ({"steps": [task(input={"x": "ctx.input.x"})]}, "x", "`{{ctx.input.x}}`"),
    "a bare source": (
        {"steps": [{"stepId": "l", "type": "LOOP", "source": "ctx.input.items"}]},
        "source",
        "`{{ctx.input.items}}`",
    ),
    "an event behind a wait": ({"steps": [task(input="{{event.id}}")]}, "", "steps.ID.output"),
    "a sleep": ({"steps": [{"stepId": "a", "type": "SLEEP"}]}, "type", "DELAY"),
    "parallel": ({"steps": [{"stepId": "a", "type": "Parallel"}]}, "type", '["a", "b"]'),
    "a setting beside config": ({"nodes": [node(timeout=5)]}, "timeout", "into `config`"),
    "from and to": ({"nodes": [node()], "edges": [{"from": "a", "to": "a"}]}, "to", "`target`"),
    "an id with a space": ({"id": "my flow", "steps": [task()]}, "id", "`my_flow`"),
    "a list of people": (
        {"steps": [{"stepId": "a", "type": "APPROVAL", "assignees": ["ann"]}]},
        "assignees",
        '"users"',
    ),
    "a trigger as text": ({"steps": [task()], "triggers": ["order.placed"]}, "", "eventPattern"),
    "no keyword of a schema": (
        {"steps": [task()], "inputSchema": {"orderId": "string"}},
        "inputSchema",
        '"properties"',
    ),
    "an unknown step": ({"steps": [task(transitions={"default": "c"})]}, "", "The steps are a."),
}


@pytest.mark.parametrize("case", TOLD)
def test_the_advice_says_what_to_write(case: str) -> None:
    document, place, advice = TOLD[case]
    problems = [each for each in check(document).problems if each.path.endswith(place)]
    assert any(advice in each.advice for each in problems), problems


def test_no_type_of_python_is_in_a_message() -> None:
    wrong: list[Value] = [None, True, 1, 1.5, "x", [], {}]
    fields = ("retry", "timeout", "when", "transitions", "joinMode", "cancels", "taskId", "handles")
    for value in wrong:
        for field in fields:
            for problem in check({"steps": [task(**{field: value})]}).problems:
                words = set(problem.message.replace("`", " ").split())
                assert not words & {"dict", "str", "int", "list", "NoneType", "bool"}, problem


@pytest.mark.parametrize(
    ("expression", "severity"),
    [
        ("steps.nope.output", "error"),
        ("steps.nope?.output ?? 0", "warning"),
        ("steps['no-pe']?.output", "warning"),
        ("steps.nope.output?.id", "error"),
        ("steps.nope?.output ?? steps.nope.output", "error"),
    ],
)
def test_a_step_that_may_be_missing_is_only_warned_of(expression: str, severity: str) -> None:
    document: Value = {"steps": [task(input=f"{{{{{expression}}}}}")]}
    found = [each for each in check(document).problems if each.code == "TEN-1057"]
    assert found[0].severity == severity


def test_the_number_of_steps_is_told_how_to_be_counted() -> None:
    [problem] = check({"steps": [task(input="{{steps.length}}")]}).problems
    assert "`Object.keys(steps).length`" in problem.advice
    assert check({"steps": [task(input="{{Object.keys(steps).length}}")]}).problems == ()
