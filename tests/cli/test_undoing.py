"""Undoing from the terminal: foreseen, asked for, done by whoever has the tasks, on every store."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto import Tenuto
from tenuto.cli.views.compensation import under_way, undone_since
from tenuto.model.json import Object
from tests.cli.conftest import Terminal
from tests.cli.waiting import until, waits_for_event
from tests.core.drawing import draw, loop, undoing, wait
from tests.core.play import play

pytestmark = pytest.mark.slow

ORDER: Object = {
    "id": "order",
    "steps": [
        {
            "stepId": "reserve",
            "type": "TASK",
            "taskId": "reserve",
            "transitions": {"default": "pay"},
        },
        {"stepId": "pay", "type": "TASK", "taskId": "pay", "transitions": {"default": "wait"}},
        {
            "stepId": "wait",
            "type": "EVENT_WAIT",
            "eventPattern": "delivered",
            "transitions": {"default": "bill"},
        },
        {"stepId": "bill", "type": "TASK", "taskId": "pay"},
    ],
    "compensationSteps": [
        {
            "stepId": "release",
            "compensationFor": "reserve",
            "taskId": "undo",
            "retry": {"maxAttempts": 1},
        },
        {
            "stepId": "refund",
            "compensationFor": "pay",
            "taskId": "undo",
            "input": {
                "paid": "steps.pay.output",
                "why": "{{workflow.instance.cancellation.reason}}",
            },
        },
        {"stepId": "unbill", "compensationFor": "bill", "taskId": "undo"},
    ],
}
TASKS = """
from pathlib import Path
from tenuto import Context, TaskError, task

@task
async def reserve(ctx: Context, order: dict) -> dict:
    return {"shelf": 4}

@task
async def pay(ctx: Context, order: dict) -> int:
    return 12

@task
async def undo(ctx: Context, what: dict) -> None:
    if ctx.step_id == "release" and Path("broken").exists():
        raise TaskError("DOWN", "the warehouse is closed", retryable=False)
"""


def ordered(terminal: Terminal) -> Terminal:
    """An order waits for its delivery, and nobody has the store open."""
    terminal.write("shop.py", TASKS)
    terminal.past(place)
    return terminal


async def place(app: Tenuto) -> None:
    @app.task
    async def reserve(order: dict[str, Any]) -> dict[str, Any]:
        return {"shelf": 4}

    @app.task
    async def pay(order: dict[str, Any]) -> int:
        return 12

    @app.task
    async def undo(what: dict[str, Any]) -> None:
        raise AssertionError("nobody asked for it yet")

    await app.deploy(ORDER)
    await until(app, await app.start("order", {}), waits_for_event)


def test_what_cancelling_would_undo_is_told_and_then_undone(on_each_store: Terminal) -> None:
    shop = ordered(on_each_store)
    shown = shop.call("show", "@last", "--undo-plan").out
    assert "cancelling it would undo 2 of its steps" in shown
    assert '1  refund  for pay  {"paid":12,"why":null}' in shown
    assert "2  release  for reserve" in shown
    assert "-  unbill  what it undoes has not completed" in shown
    foreseen = shop.call("show", "@last", "--undo-plan", "-o", "json").json["undoPlan"]
    assert [item["stepId"] for item in foreseen["plan"]] == ["refund", "release"]

    cancelled = shop.call("cancel", "@last", "--reason", "too late")
    assert (cancelled.code, "RUNNING" in cancelled.out) == (0, True), cancelled.err
    assert "tenuto run --instance" in cancelled.err
    begun = shop.call("show", "@last").out
    assert "undone  0 of 2  IN_PROGRESS" in begun
    assert "1  refund  for pay  under way, attempt 1" in begun
    assert "2  release  for reserve  to come" in begun

    ended = shop.run("run", "--instance", "@last", "--tasks", "shop.py")
    assert "cancelled by cli: too late" in ended.err
    assert ended.err.index("↶ refund  undone") < ended.err.index("↶ release  undone")
    assert "undone  2 of 2  COMPLETED" in shop.call("show", "@last").out
    details = shop.call("show", "@last", "-o", "json").json
    assert details["status"] == "CANCELLED"
    assert details["compensationState"]["completed"] == ["refund", "release"]
    assert shop.call("verify").code == 0


def test_what_could_not_be_undone_is_kept_and_tried_again(terminal: Terminal) -> None:
    shop = ordered(terminal)
    broken = shop.write("broken", "")
    assert shop.call("cancel", "@last").code == 0
    shop.run("run", "--instance", "@last", "--tasks", "shop.py")
    shown = shop.call("show", "@last").out
    assert "undone  1 of 2  COMPLETED_WITH_ERRORS" in shown
    assert "1  refund  for pay  done" in shown
    assert "2  release  for reserve  failed: DOWN: the warehouse is closed" in shown
    assert "-  unbill  skipped: what it undoes has not completed" in shown
    [letter] = shop.call("dead-letters", "list", "-o", "json").json["items"]
    assert (letter["kind"], letter["stepId"]) == ("compensation-failed", "release")

    assert shop.call("retry", "@last", "--compensation", "refund").code == 4
    broken.unlink()
    again = shop.call("retry", "@last", "--compensation", "release")
    assert again.code == 0, again.err
    assert "release runs again; to look at it:" in again.err
    assert f"tenuto show {letter['instanceId']} --step release" in again.err
    given = shop.call("show", "@last", "--step", "release", "-o", "json").json["input"]
    assert given["originalOutput"] == {"shelf": 4}, given
    shop.run("run", "--instance", "@last", "--tasks", "shop.py")
    assert "undone  2 of 2  COMPLETED" in shop.call("show", "@last").out
    assert shop.call("verify").code == 0


def test_what_was_done_can_be_left_as_it_is(terminal: Terminal) -> None:
    shop = ordered(terminal)
    cancelled = shop.call("cancel", "@last", "--no-compensation")
    assert (cancelled.code, "CANCELLED" in cancelled.out) == (0, True), cancelled.err
    assert shop.call("show", "@last", "-o", "json").json["compensationState"] is None


def test_what_is_being_undone_is_seen_while_it_goes_on() -> None:
    document = undoing(draw("a>l l:loop>b l:done>w", l=loop([1]), w=wait()), a={}, b={})
    run = play(document).start().succeed("a").succeed("b[0]")
    assert under_way(run.state.compensation) is None
    before = run.cancel().state.compensation
    assert under_way(before) == "↶ undo_b[0]  undoing 1/2"
    assert undone_since(None, before) == []
    after = run.fail("undo_b[0]").state.compensation
    assert undone_since(before, after) == ["✗ undo_b[0]  OOPS in undo_b[0]"]
    assert under_way(run.succeed("undo_a").state.compensation) is None
