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

    pay = terminal.call("show", "@last", "--step", "pay", "-o", "json").json
    assert pay["input"] == {"id": 7, "password": "hunter2"}
    assert pay["output"]["token"] == "t-1"
    assert [each["status"] for each in pay["attempts"]] == ["failed", "completed"]
    assert pay["attempts"][0]["error"]["code"] == "DOWN"
    assert "nextAttemptAt" in pay["attempts"][0]
    assert pay["logs"].endswith("--step pay")
    shown = terminal.call("show", "@last", "--step", "pay").out
    assert "DOWN: try later" in shown
    assert re.search(r"ATTEMPT +STATUS +STARTED +QUEUED +TOOK", shown)
    assert all(each["executionTime"] >= 0 <= each["queueTime"] for each in pay["attempts"])
    assert "cut; -o json shows all of it" in shown

    packs = terminal.call("show", "@last", "--step", "pack", "-o", "json").json["iterations"]
    assert [(each["iteration"], each["output"]) for each in packs] == [("0", 2), ("1", 4), ("2", 6)]
    assert [each["attemptCount"] for each in packs] == [1, 1, 1]
    assert "ATTEMPTS" in terminal.call("show", "@last", "--step", "pack").out
    each = terminal.call("show", "@last", "--step", "each", "-o", "json").json
    assert (each["output"], len(each["iterations"])) == ([2, 4, 6], 3)
    assert terminal.call("show", "@last", "--step", "pack[1]", "-o", "json").json["input"] == 2
    failed = terminal.call("show", "@last", "--step", "ship").out
    assert failed.startswith("FAILED  ship")
    assert "OUT_OF_STOCK: none left" in failed
    assert "COMPLETED  refund" in terminal.call("show", "@last", "--step", "refund").out


def test_secrets_are_masked_by_their_names_for_people_and_whole_in_json(terminal: Terminal) -> None:
    terminal.past(ordered)
    looks = (("show", "@last", "--history"), ("show", "@last", "--step", "pay"))
    for words in (*looks, ("history", "@last")):
        out = terminal.call(*words).out
        assert "hunter2" not in out, words
        assert '"password":"••••"' in out, words
        assert "hunter2" in terminal.call(*words, "-o", "json").out, words
    for words in looks:
        assert "hunter2" in terminal.call(*words, "--reveal").out, words


def test_a_step_that_there_is_not_is_refused_with_the_nearest(terminal: Terminal) -> None:
    terminal.past(ordered)
    missing = terminal.call("show", "@last", "--step", "pck")
    assert missing.code == 3
    assert "Did you mean `pack`?" in missing.err
    assert terminal.call("show", "@last", "--step", "pack[9]").code == 3
