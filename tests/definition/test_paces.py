"""`options.debounce`, `options.rate` and limits: what they take, and what they refuse."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto import sleep, workflow
from tenuto.definition import check
from tenuto.model.errors import InvalidDefinition
from tenuto.model.graph import Concurrency, Debounce, Rate
from tenuto.model.json import JSON, Object


def checked(**options: JSON) -> list[tuple[str, str]]:
    found = check(
        {
            "id": "f",
            "steps": [{"stepId": "s", "type": "TASK", "taskId": "t"}],
            "options": {**options},
        }
    )
    return [(each.code, each.path) for each in found.problems if each.severity == "error"]


def test_paces_are_read_with_their_times() -> None:
    document: Object = {
        "id": "f",
        "steps": [{"stepId": "s", "type": "TASK", "taskId": "t"}],
        "options": {
            "debounce": {"period": "PT5S", "max": "PT1M"},
            "rate": {"limit": 3, "per": "PT1H", "key": "{{ctx.input.k}}"},
        },
    }
    definition = check(document).definition
    assert definition is not None
    second = timedelta(seconds=1)
    assert definition.options.debounce == Debounce(period=5 * second, max=60 * second)
    assert definition.options.rate == Rate(limit=3, per=3600 * second, key="{{ctx.input.k}}")


@pytest.mark.parametrize(
    ("options", "code", "path"),
    [
        ({"concurrency": {"limit": -1}}, "TEN-1014", "$.options.concurrency.limit"),
        ({"concurrency": {"limit": 10**9}}, "TEN-1014", "$.options.concurrency.limit"),
        ({"concurrency": {"limit": "many"}}, "TEN-1010", "$.options.concurrency.limit"),
        ({"debounce": {"period": "PT0S"}}, "TEN-1015", "$.options.debounce.period"),
        ({"debounce": {"period": "P32D"}}, "TEN-1014", "$.options.debounce.period"),
        ({"debounce": {"period": "PT9S", "max": "PT1S"}}, "TEN-1014", "$.options.debounce.max"),
        ({"debounce": {"period": "PT9S", "keys": "k"}}, "TEN-1012", "$.options.debounce.keys"),
        ({"rate": {"limit": 1, "per": "P1M"}}, "TEN-1015", "$.options.rate.per"),
        ({"rate": {"limit": 2**40, "per": "PT1S"}}, "TEN-1014", "$.options.rate.limit"),
        ({"rate": {"limit": 1}}, "TEN-1011", "$.options.rate"),
    ],
)
def test_paces_that_cannot_be_used_are_refused_with_their_place(
    options: Object, code: str, path: str
) -> None:
    assert checked(**options) == [(code, path)]


PACES: dict[str, Object] = {
    "concurrency": {"limit": 1},
    "debounce": {"period": "PT5S"},
    "rate": {"limit": 1, "per": "PT1M"},
}


@pytest.mark.parametrize("option", PACES)
def test_a_key_of_what_an_instance_has_only_later_is_refused(option: str) -> None:
    def found(key: str) -> list[tuple[str, str]]:
        return checked(**{option: {**PACES[option], "key": key}})

    wrong = ("TEN-1032", f"$.options.{option}.key")
    for name in ("steps.s.output", "steps.gone.output", "steps['s'].output", "steps?.s", "ctx.s"):
        assert found(f"a-{{{{{name} ?? 'none'}}}}") == [wrong]
    assert found("{{workflow.id}}-{{workflow.instance.id}}") == [wrong, wrong]
    assert found("{{ctx.input.a + steps.s.output + ctx.b}}") == [wrong, wrong]
    for name in ("ctx.input", "ctx.input.a", "ctx.input?.a?.b", "workflow.input['a']", "ctx", "1"):
        assert found(f"a-{{{{{name}}}}}") == []


def test_a_key_that_was_saved_before_it_was_refused_can_still_be_read() -> None:
    key = "{{steps.s.output ?? 'none'}}"
    document: Object = {
        "id": "f",
        "steps": [{"stepId": "s", "type": "TASK", "taskId": "t"}],
        "options": {"concurrency": {"limit": 1, "key": key}},
    }
    definition = check(document, is_saved=True).definition
    assert definition is not None
    assert definition.options.concurrency == Concurrency(limit=1, key=key)


def test_a_refused_key_is_told_what_a_key_may_use() -> None:
    @workflow("single", singleton="{{steps.nap.output}}")
    def single() -> None:
        sleep("PT1S")

    with pytest.raises(InvalidDefinition) as refused:
        single.checked()
    [problem] = refused.value.problems
    assert "`steps.nap.output` has no value before the instance starts" in problem.message
    assert problem.advice == "A key may use `ctx.input` and `workflow.input`."


@pytest.mark.parametrize(
    ("singleton", "on_full", "concurrency"),
    [
        (True, None, Concurrency(limit=1, hold_while_waiting=True, on_full="reject")),
        (
            "{{ctx.input.k}}",
            "keep-newest",
            Concurrency(
                limit=1, key="{{ctx.input.k}}", hold_while_waiting=True, on_full="keep-newest"
            ),
        ),
    ],
)
def test_a_singleton_is_a_limit_of_one(
    singleton: bool | str, on_full: object, concurrency: Concurrency
) -> None:
    @workflow("single", singleton=singleton, on_full=on_full)  # type: ignore[call-overload,untyped-decorator]
    def single(order: dict[str, str]) -> None:
        sleep("PT1S")

    definition = check(single.definition()).definition
    assert definition is not None
    assert definition.options.concurrency == concurrency


def test_a_singleton_with_another_limit_or_a_policy_without_one_is_refused() -> None:
    @workflow("twice", singleton=True, options={"concurrency": {"limit": 2}})
    def twice(order: dict[str, str]) -> None:
        sleep("PT1S")

    @workflow("never", on_full="queue")
    def never(order: dict[str, str]) -> None:
        sleep("PT1S")

    @workflow("three", singleton=3)  # type: ignore[call-overload,untyped-decorator]
    def three(order: dict[str, str]) -> None:
        sleep("PT1S")

    for function, name in ((twice, "singleton"), (never, "on_full"), (three, "singleton")):
        with pytest.raises(InvalidDefinition) as refused:
            function.checked()
        [problem] = refused.value.problems
        assert f"`{name}` is" in problem.message
