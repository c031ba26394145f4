"""`deploy`, `start` and `history` on a store; and what is done about dead letters there."""

from __future__ import annotations

import json

import pytest

from tenuto import Tenuto
from tenuto.model.json import Object
from tests.cli.conftest import DOUBLE, WAIT, Terminal, one_of_each

TWICE: Object = {"stepId": "twice", "type": "TASK", "taskId": "double", "input": 21}


@pytest.fixture
def past(terminal: Terminal) -> Terminal:
    terminal.past(one_of_each)
    return terminal


@pytest.mark.slow
def test_what_is_deployed_is_started_by_its_id_and_run_by_whoever_has_its_tasks(
    terminal: Terminal,
) -> None:
    terminal.write("double.json", DOUBLE)
    assert terminal.call("deploy", "double.json").out == "✓ double@1\n"
    ended = terminal.call("start", "double", "-i", "21", "--key", "k", "-o", "json")
    assert ended.code == 0, ended.err
    id = ended.json["instanceId"]
    again = terminal.call("start", "double", "-i", "21", "--key", "k")
    assert id in again.out
    assert "no process works on the store now" in again.err
    assert terminal.run("run", "double.json", "--instance", id).json == 42
    lines = [
        json.loads(line) for line in terminal.call("history", id, "-o", "json").out.splitlines()
    ]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    followed = terminal.call("history", id, "-f")
    assert (followed.code, '"to":"COMPLETED"' in followed.out) == (0, True)


@pytest.mark.parametrize(
    ("given", "input"),
    [
        (("orderId=7",), {"orderId": 7}),
        (("name=ink", 'items=["a"]', "note=a=b"), {"name": "ink", "items": ["a"], "note": "a=b"}),
        (('quoted="7"', "from=@number.json"), {"quoted": "7", "from": 9}),
        (('{"a": "b=c"}',), {"a": "b=c"}),
    ],
)
def test_the_fields_of_an_input_are_given_one_by_one(
    past: Terminal, given: tuple[str, ...], input: object
) -> None:
    past.write("number.json", "9")
    words = [word for each in given for word in ("-i", each)]
    started = past.call("start", "wait", *words, "-o", "json")
    assert started.code == 0, started.err
    shown = past.call("show", started.json["instanceId"], "-o", "json").json
    assert shown["input"] == input


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("a=1", "{}"), "'{}' is not NAME=VALUE"),
        (("a=1", "a=2"), "a is given twice"),
        (("password=••••",), "has a masked value"),
        (("a=@none.json",), "there is no file none.json"),
    ],
)
def test_fields_that_are_not_clear_are_refused(
    past: Terminal, given: tuple[str, ...], said: str
) -> None:
    words = [word for each in given for word in ("-i", each)]
    ended = past.call("start", "wait", *words)
    assert ended.code in (2, 3)
    assert said in ended.err.replace("A is given", "a is given")


def test_a_start_has_a_priority_and_a_deadline(terminal: Terminal) -> None:
    terminal.write("wait.json", WAIT)
    terminal.call("deploy", "wait.json")
    given = ("--priority", "3", "--deadline", "2126-11-16T20:31Z")
    started = terminal.call("start", "wait", "-i", '{"id": 1}', *given, "-o", "json")
    shown = terminal.call("show", started.json["instanceId"], "-o", "json").json
    assert (shown["priority"], shown["deadline"]) == (3, "2126-11-16T20:31:00.000Z")
    refused = terminal.call("start", "wait", "--deadline", "soon")
    assert refused.code == 2
    assert "--deadline" in refused.err


def test_a_workflow_that_is_not_there_exits_3_with_the_nearest(terminal: Terminal) -> None:
    terminal.write("double.json", DOUBLE)
    terminal.call("deploy", "double.json")
    ended = terminal.call("start", "dobule")
    assert ended.code == 3
    assert "double" in ended.err


def test_none_is_deployed_where_one_has_errors(terminal: Terminal) -> None:
    terminal.write("double.json", DOUBLE)
    terminal.write("wrong.json", {"steps": []})
    assert terminal.call("deploy", "double.json", "wrong.json").code == 2
    assert not (terminal.folder / "store.db").exists()


def test_following_ends_after_its_time(terminal: Terminal) -> None:
    terminal.write("wait.json", WAIT)
    terminal.call("deploy", "wait.json")
    ended = terminal.call("start", "wait", "-i", '{"id": 1}', "--follow", "--timeout", "0.1")
    assert ended.code == 124
    assert "tenuto show" in ended.err


def test_dead_letters_are_shown_and_discarded(past: Terminal) -> None:
    letter, *_ = past.call("dead-letters", "list", "-o", "id").out.split()
    shown = past.call("dead-letters", "show", letter).out
    assert "OUT_OF_STOCK: none left" in shown
    assert "NODE_FAILED, attempt 1" in shown
    assert past.call("dead-letters", "discard", letter, "-o", "json").json["discarded"]
    assert past.call("dead-letters", "show", letter).code == 3


def test_a_dead_letter_that_is_tried_again_is_gone(past: Terminal) -> None:
    letter, *_ = past.call("dead-letters", "list", "-o", "id").out.split()
    ended = past.call("dead-letters", "retry", letter, "-o", "json")
    assert (ended.code, ended.json["id"]) == (0, letter.partition(":")[0])
    assert past.call("dead-letters", "list", "-o", "id").out == ""
    assert past.call("dead-letters", "retry", letter).code == 3


def test_a_dead_letter_is_tried_again_with_another_input(past: Terminal) -> None:
    letter, *_ = past.call("dead-letters", "list", "-o", "id").out.split()
    ended = past.call("dead-letters", "retry", letter, "--input", '{"number": 8}', "-o", "json")
    assert ended.code == 0, ended.out
    log = past.call("history", ended.json["id"], "-o", "json").out
    assert '"edited"' in log
    assert past.call("dead-letters", "retry", "x", "--input", "{").code == 2


async def undone(app: Tenuto) -> None:
    """An instance failed, and what it had done was undone."""
    await app.deploy(
        {
            "id": "undone",
            "steps": [
                {**TWICE, "transitions": {"default": "reserve"}},
                {"stepId": "reserve", "type": "TASK", "taskId": "refuse"},
            ],
            "compensationSteps": [
                {
                    "stepId": "halve",
                    "compensationFor": "twice",
                    "taskId": "double",
                    "input": "steps.twice.output",
                }
            ],
        }
    )
    failing = await app.start("undone", {})
    with pytest.raises(Exception, match="OUT_OF_STOCK"):
        await failing.result(timeout=60)


def test_a_dry_run_refuses_what_the_command_refuses(terminal: Terminal) -> None:
    terminal.past(undone)
    letter, *_ = terminal.call("dead-letters", "list", "-o", "id").out.split()
    for words, code in (
        (("cancel", "@last"), "TEN-3002"),
        (("dead-letters", "retry", letter), "TEN-3009"),
        (("dead-letters", "retry", letter, "--input", "{}"), "TEN-3009"),
    ):
        for each in (words, (*words, "--dry-run")):
            refused = terminal.call(*each)
            assert (refused.code, code in refused.err) == (4, True), each
    shown = terminal.call("show", "@last", "--undo-plan")
    assert "undo plan  none: it has ended; undone: halve" in shown.out
    assert terminal.call("show", "@last", "--undo-plan", "-o", "json").json["undoPlan"] is None


def test_the_doctor_looks_at_a_store(past: Terminal) -> None:
    ended = past.call("doctor", "-o", "json")
    assert ended.code == 0, ended.out
    assert [each["what"] for each in ended.json["findings"]] == [
        "python",
        "limits",
        "sandbox",
        "disk",
        "files",
        "store",
        "clock",
    ]
    assert {each["state"] for each in ended.json["findings"]} == {"ok"}


def test_the_doctor_says_what_to_do_about_a_store_that_is_not_there(terminal: Terminal) -> None:
    ended = terminal.call("doctor")
    assert ended.code == 5
    assert "✗ store" in ended.out


def test_deploy_shows_warnings_and_saves(terminal: Terminal) -> None:
    text = "steps: [{stepId: a, type: TASK, taskId: t, input: '{{ctx.order}}'}]"
    terminal.write("warned.yaml", text)
    ended = terminal.call("deploy", "warned.yaml")
    assert (ended.code, ended.out) == (0, "✓ warned@1\n")
    assert "TEN-1058  $.steps[0].input  warned.yaml:1:51" in ended.err
    assert ended.err.count("TEN-1058  ") == 1
    [item] = terminal.call("deploy", "warned.yaml", "-o", "json").json["items"]
    assert [each["code"] for each in item["problems"]] == ["TEN-1058"]
