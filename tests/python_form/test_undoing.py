"""What Python declares to undo a step runs, with what it was promised."""

# ruff: noqa: ANN401 - what a workflow is given does not matter here
from __future__ import annotations

import os
from typing import Any

import pytest

from tenuto import (
    Context,
    Retry,
    Status,
    TaskError,
    Tenuto,
    WorkflowFailed,
    child,
    wait_event,
    workflow,
)
from tenuto.model.json import JSON
from tenuto.tasks import Registry
from tenuto.testing import Engine, Instance
from tests.python_form.shop import Order

tasks = Registry()


@tasks.task
def reserve(order: Order) -> Order:
    return {"reservation": order["id"]}


@tasks.task
async def charge(order: Order) -> Order:
    return {"payment": f"p-{order['id']}", "amount": order["amount"], "receipt": "long"}


@charge.undo(retry=Retry(attempts=3, first="PT20S", factor=1))
async def refund(ctx: Context, payment: str, amount: int) -> list[Any]:
    assert ctx.undo is not None
    return [payment, amount, ctx.step_id, ctx.undo.step_id, ctx.undo.iteration, ctx.undo.reason]


@tasks.task
def tell(ctx: Context, about: Any) -> list[Any]:
    """Undoes a step without having been declared to."""
    assert ctx.undo is not None
    return [about, ctx.undo.step_id, ctx.undo.original_output, ctx.undo.workflow_input]


@tasks.task
def fail(_: Any) -> Any:
    raise TaskError("NO_COURIER", "nobody goes there", retryable=False)


@tasks.task(isolation="process")
def far(order: Order) -> str:
    return str(order["id"])


@far.undo(isolation="process")
def back(ctx: Context, given: str) -> list[Any]:
    assert ctx.undo is not None
    return [given, ctx.undo.step_id, ctx.undo.workflow_input, os.getpid()]


@tasks.task
def forget(_: Any) -> Any:
    """Gives nothing."""


@forget.undo
def remember(ctx: Context, given: Any) -> list[Any]:
    assert ctx.undo is not None
    return [given, ctx.undo.original_output]


@tasks.task
def boast(_: Any) -> str:
    """Does its work, and gives more than can be kept."""
    return "x" * 2_000_000


@boast.undo
def retract(given: Any) -> list[Any]:
    return [given]


@workflow
def order_flow(order: Order) -> Any:
    held = reserve.undo(by=lambda given: tell({"held": given, "by": order["who"]}))(order)
    kept = charge.undo(by=None).after(held)(order)
    paid = charge.after(kept)(order)
    little = charge.undo(when=lambda given: given["amount"] > 1000).after(paid)(order)
    told = charge.undo(by=tell).after(little)(order)
    return fail(told)


@workflow
def quiet(order: Order) -> Any:
    return boast(forget(order))


@workflow
def many(orders: list[Order]) -> Any:
    paid = charge.map(orders, at_most=1)
    return fail(paid)


@workflow
def part(order: Order) -> Order:
    return charge.named("paid")(order)


@workflow
def parent(order: Order) -> Any:
    held = reserve.undo(by=tell)(order)
    inner = child(part, held)
    return fail(inner)


@workflow
def waiting(order: Order) -> Any:
    paid = charge(order)
    wait_event("order.confirmed")
    return paid


ORDER: JSON = {"id": 7, "amount": 9, "who": "ada"}


def given_back(instance: Instance) -> list[Any]:
    """What each compensation gave, in order."""
    return [
        row["payload"]["output"]  # type: ignore[index,call-overload]
        for row in instance.history
        if row["eventType"] == "COMPENSATION_COMPLETED"
    ]


def test_each_step_is_undone_as_it_was_said() -> None:
    """A Python `undo` gets the original output; the rest is in `ctx.undo`."""
    with Engine(tasks=tasks) as engine:
        failed = engine.start(order_flow, ORDER).finished()
        assert failed.status is Status.FAILED
        assert failed.undone == ["told", "paid", "held"]
        output = {"payment": "p-7", "amount": 9, "receipt": "long"}
        held = {"reservation": 7}
        assert given_back(failed) == [
            [output, "told", output, ORDER],
            ["p-7", 9, "undo_paid", "paid", "", None],
            [{"held": held, "by": "ada"}, "held", held, ORDER],
        ]


def test_what_was_done_is_undone_whether_or_not_it_gave_something() -> None:
    with Engine(tasks=tasks) as engine:
        failed = engine.start(quiet, ORDER).finished()
        assert failed.undone == ["boast", "forget"]
        assert given_back(failed) == [[None], [None, None]]


def test_each_item_is_undone_by_itself() -> None:
    with Engine(tasks=tasks) as engine:
        failed = engine.start(many, [{"id": 1, "amount": 10}, {"id": 2, "amount": 20}]).finished()
        assert failed.undone == ["charge[1]", "charge[0]"]
        assert given_back(failed) == [
            ["p-2", 20, "undo_charge", "charge", "1", None],
            ["p-1", 10, "undo_charge", "charge", "0", None],
        ]


def test_a_child_undoes_its_own_steps() -> None:
    with Engine(tasks=tasks) as engine:
        engine.stub(charge, {"payment": "p-1", "amount": 1})
        failed = engine.start(parent, ORDER).finished()
        assert failed.undone == ["inner", "held"]
        inner = engine.instances[1]
        assert (inner.status, inner.undone) == (Status.COMPLETED, ["paid"])
        assert given_back(inner) == [["p-1", 1, "undo_paid", "paid", "", None]]


def test_a_cancellation_is_told_with_its_reason() -> None:
    with Engine(tasks=tasks) as engine:
        instance = engine.start(waiting, ORDER).until(waiting_for="order.confirmed")
        instance.cancel("changed my mind")
        assert instance.finished().status is Status.CANCELLED
        assert given_back(instance) == [["p-7", 9, "undo_paid", "paid", "", "changed my mind"]]


def test_what_undoes_a_step_is_tried_again_as_it_was_declared() -> None:
    with Engine(tasks=tasks) as engine:
        engine.stub(refund, ConnectionError("away"), ConnectionError("away"), "done")
        instance = engine.start(waiting, ORDER).until(waiting_for="order.confirmed")
        before = engine.now
        instance.cancel()
        instance.finished()
        assert (given_back(instance), instance.undone) == (["done"], ["paid"])
        assert [call.outcome for call in engine.calls(refund)] == ["failed", "failed", "done"]
        assert len({call.key for call in engine.calls(refund)}) == 1
        assert 40 <= (engine.now - before).total_seconds() <= 50


@pytest.mark.asyncio
@pytest.mark.slow
async def test_what_undoes_a_step_may_run_in_a_child_process() -> None:
    @workflow
    def flow(order: Order) -> Any:
        return fail(far(order))

    async with Tenuto(tasks=tasks) as app:
        instance = await app.start(flow, ORDER)
        with pytest.raises(WorkflowFailed):
            await instance.result(timeout=30)
        [done] = [
            each["payload"]["output"]  # type: ignore[index,call-overload]
            for each in await instance.history()
            if each["eventType"] == "COMPENSATION_COMPLETED"
        ]
    assert isinstance(done, list)
    assert done[:3] == ["7", "far", ORDER]
    assert done[3] != os.getpid()
