"""`tenuto show ID --step NAME`: what a step was given and gave, its attempts and iterations."""

from __future__ import annotations

import re
from contextlib import suppress

from tenuto import Context, TaskError, Tenuto, WorkflowFailed
from tenuto.model.json import Object
from tests.cli.conftest import Terminal

QUICK: Object = {"maxAttempts": 3, "initialDelay": "PT0.001S"}
ORDER: Object = {
    "id": "order",
    "steps": [
        {
            "stepId": "pay",
            "type": "TASK",
            "taskId": "flaky",
            "input": {"id": "{{workflow.input.id}}", "password": "{{workflow.input.password}}"},
            "retry": QUICK,
            "transitions": {"default": "each"},
        },
        {
            "stepId": "each",
            "type": "LOOP",
            "source": [1, 2, 3],
            "transitions": {"loop": "pack", "done": "ship"},
        },
        {"stepId": "pack", "type": "TASK", "taskId": "double", "input": "{{item}}"},
        {"stepId": "ship", "type": "TASK", "taskId": "refuse", "input": "{{steps.pay.output}}"},
    ],
    "compensationSteps": [{"stepId": "refund", "compensationFor": "pay", "taskId": "flaky"}],
}


async def ordered(app: Tenuto) -> None:
    @app.task
    async def flaky(ctx: Context, given: dict[str, object]) -> dict[str, object]:
        if ctx.attempt == 1 and ctx.step_id == "pay":
            raise TaskError("DOWN", "try later", retryable=True)
        return {"paid": "x" * 700, "token": "t-1"}

    await app.deploy(ORDER)
    with suppress(WorkflowFailed):
        started = await app.start("order", {"id": 7, "password": "hunter2"})
        await started.result(timeout=60)


def test_a_step_is_shown_with_its_input_attempts_and_iterations(terminal: Terminal) -> None:
    terminal.past(ordered)
    assert "each  3 items  " in terminal.call("show", "@last").out

    pay = terminal.call("show", "@last", "--step", "pay", "-o", "json", "--reveal").json
    assert pay["input"] == {"id": 7, "password": "hunter2"}
    assert pay["output"]["token"] == "t-1"
    assert [each["status"] for each in pay["attempts"]] == ["failed", "completed"]
    assert pay["attempts"][0]["error"]["code"] == "DOWN"
    assert "nextAttemptAt" in pay["attempts"][0]
    assert pay["logs"].endswith("--step pay")
    shown = terminal.call("show", "@last", "--step", "pay").out
    assert "DOWN: try later" in shown
    assert re.search(r"ATTEMPT +STATUS +STARTED +QUEUED +TOOK +WORKER", shown)
    assert shown.count("in process") == 2
    assert all(each["executionTime"] >= 0 <= each["queueTime"] for each in pay["attempts"])
    assert "cut; -o json shows all of it" in shown

    packs = terminal.call("show", "@last", "--step", "pack", "-o", "json").json["iterations"]
    assert [(each["iteration"], each["output"]) for each in packs] == [("0", 2), ("1", 4), ("2", 6)]
    assert [each["attemptCount"] for each in packs] == [1, 1, 1]
    assert "ATTEMPTS" in terminal.call("show", "@last", "--step", "pack").out
    each = terminal.call("show", "@last", "--step", "each", "-o", "json").json
    assert (each["output"], len(each["iterations"])) == ([2, 4, 6], 3)
    pack = terminal.call("show", "@last", "--step", "pack[1]", "-o", "json").json
    assert (pack["input"], "{{" in pack["template"]) == (2, True)
    last = terminal.call("history", "@last", "--tail", "1").out.splitlines()
    assert last == terminal.call("history", "@last").out.splitlines()[-1:]
    failed = terminal.call("show", "@last", "--step", "ship").out
    assert failed.startswith("FAILED  ship")
    assert "OUT_OF_STOCK: none left" in failed
    assert "COMPLETED  refund" in terminal.call("show", "@last", "--step", "refund").out


FAMILY: Object = {
    "id": "family",
    "steps": [
        {
            "stepId": "kids",
            "type": "LOOP",
            "source": [1, 2],
            "transitions": {"loop": "sub"},
        },
        {
            "stepId": "sub",
            "type": "SUB_WORKFLOW",
            "workflowId": "kid",
            "input": "{{item}}",
            "transitions": {"default": "after"},
        },
        {"stepId": "after", "type": "TASK", "taskId": "double", "input": "{{item}}"},
    ],
}
KID: Object = {
    "id": "kid",
    "steps": [
        {"stepId": "bad", "type": "TASK", "taskId": "refuse", "when": "workflow.input === 2"}
    ],
}


async def started_a_family(app: Tenuto) -> None:
    await app.deploy(KID)
    await app.deploy(FAMILY)
    with suppress(WorkflowFailed):
        await (await app.start("family")).result(timeout=60)


def test_an_iteration_of_a_loop_that_failed_is_shown_with_its_steps_and_child(
    terminal: Terminal,
) -> None:
    terminal.past(started_a_family)
    assert re.search(r"kids +cancelled  2 of 2 items, 1 failed", terminal.call("show", "@last").out)
    kids = terminal.call("show", "@last", "--step", "kids", "-o", "json").json["iterations"]
    assert [each["status"] for each in kids] == ["completed", "failed"]
    assert kids[1]["error"]["code"] == "CHILD_FAILED"
    [child] = kids[1]["childIds"]
    one = terminal.call("show", "@last", "--step", "kids[1]", "-o", "json").json
    assert one["status"] == "failed"
    assert [(each["stepId"], each["status"]) for each in one["steps"]] == [
        ("sub", "failed"),
        ("after", "not started"),
    ]
    assert (one["steps"][0]["childId"], one["steps"][0]["attemptCount"]) == (child, 1)
    shown = terminal.call("show", "@last", "--step", "kids[1]").out
    assert shown.startswith("FAILED  kids[1]  of ")
    assert "--step 'sub[1]'" in shown
    assert f"tenuto explain {child}" in shown
    for wrong in ("kids[2]", "kids[x]", "kids[1/0]"):
        refused = terminal.call("show", "@last", "--step", wrong)
        assert (refused.code, "kids has no iteration" in refused.err) == (3, True), wrong


def test_secrets_are_masked_by_their_names_unless_they_are_asked_for(terminal: Terminal) -> None:
    terminal.past(ordered)
    looks = (("show", "@last", "--history"), ("show", "@last", "--step", "pay"))
    for words in (*looks, ("history", "@last")):
        for output in (("-o", "table"), ("-o", "json")):
            out = terminal.call(*words, *output).out
            assert "hunter2" not in out, words
            assert '"password":"••••"' in out.replace(": ", ":"), words
            assert "hunter2" in terminal.call(*words, *output, "--reveal").out, words
    masked = terminal.call("rerun", "@last", "--input", '{"password": "••••"}')
    assert (masked.code, "--reveal" in masked.err) == (2, True)


def test_a_step_that_there_is_not_is_refused_with_the_nearest(terminal: Terminal) -> None:
    terminal.past(ordered)
    missing = terminal.call("show", "@last", "--step", "pck")
    assert missing.code == 3
    assert "Did you mean `pack`?" in missing.err
    assert terminal.call("show", "@last", "--step", "pack[9]").code == 3
