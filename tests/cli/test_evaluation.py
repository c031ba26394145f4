"""`tenuto eval`: expressions and templates over values of one's own, or of an instance."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Terminal, one_of_each

VALUES = json.dumps({"ctx": {"input": {"id": 7}, "on": True}, "event": {"pattern": "a.b"}})


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("ctx.input.id * 2", 14, "number"),
        ("ctx.on", True, "boolean"),
        ("ctx.input", {"id": 7}, "object"),
        ("[ctx.input.id]", [7], "array"),
        ("null", None, "null"),
        ("ctx.nothing", None, "undefined"),
        ("event.pattern", "a.b", "string"),
        ("Order {{ctx.input.id}}", "Order 7", "string"),
        ("{{ctx.input.id}}", 7, "number"),
    ],
)
def test_a_value_has_the_type_that_the_engine_gives_it(
    terminal: Terminal, text: str, value: object, kind: str
) -> None:
    ended = terminal.call("eval", text, "--context", VALUES, "-o", "json")
    assert (ended.code, ended.json) == (0, {"value": value, "type": kind}), ended.err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ctx.input.id +", "TEN-1030"),
        ("Order {{ctx.input.id", "TEN-1031"),
        ("Order {{ctx.input.}}", "TEN-1031"),
        ("item.id", "TEN-1032"),
        ("{{item.id}}", "TEN-1032"),
    ],
)
def test_what_is_wrong_with_a_text_has_the_codes_of_validation(
    terminal: Terminal, text: str, code: str
) -> None:
    ended = terminal.call("eval", text)
    assert ended.code == 2
    assert code in ended.err
    wait = {"stepId": "a", "type": "EVENT_WAIT", "eventPattern": "x.y", "eventCondition": text}
    task = {"stepId": "a", "type": "TASK", "taskId": "t", "input": {"x": text}}
    step = task if "{{" in text else wait
    terminal.write("wrong.json", {"id": "wrong", "steps": [step]})
    assert code in terminal.call("validate", "wrong.json").err


def test_an_evaluation_that_fails_says_what_a_step_would_fail_with(terminal: Terminal) -> None:
    ended = terminal.call("eval", "ctx.input.id.toFixed(200)", "--context", VALUES)
    assert ended.code == 2
    assert "EXPRESSION_ERROR" in ended.err


@pytest.mark.parametrize("context", ["[1]", "{", "@missing.json"])
def test_values_that_are_no_object_are_refused(terminal: Terminal, context: str) -> None:
    ended = terminal.call("eval", "1", "--context", context)
    assert ended.code in (2, 3)
    assert "TEN-" in ended.err


def test_the_values_of_an_instance_are_seen_as_its_steps_see_them(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    id = terminal.call("list", "--status", "COMPLETED", "-o", "id").out.strip()
    assert terminal.call("eval", "ctx.input", "--instance", id).out.strip() == "21"
    shown = terminal.call("eval", "workflow.instance.id", "--instance", id)
    assert shown.out.strip() == id
    both = terminal.call("eval", "1", "--instance", id, "--context", "{}")
    assert both.code == 2


def test_masked_fields_stay_masked_unless_they_are_asked_for(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    terminal.write(
        "w.json", {"id": "w", "steps": [{"stepId": "d", "type": "DELAY", "duration": "P1D"}]}
    )
    assert terminal.call("deploy", "w.json").code == 0
    assert terminal.call("start", "w", "-i", '{"password": "hunter22"}').code == 0
    assert "hunter22" not in terminal.call("eval", "ctx.input.password", "--instance", "@last").out
    revealed = terminal.call("eval", "ctx.input.password", "--instance", "@last", "--reveal")
    assert revealed.out.strip() == "hunter22"
