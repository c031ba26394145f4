"""What undoes the steps of a workflow function is the compensation that JSON spells."""

# ruff: noqa: ANN401 - what a workflow is given does not matter here
from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import msgspec
import pytest

from tenuto import (
    Context,
    InvalidDefinition,
    Result,
    TenutoError,
    WorkflowFunction,
    repeat_while,
    when,
    workflow,
)
from tenuto.model.json import JSON, Object
from tenuto.tasks import Registry, TaskFunction
from tests.python_form.shop import Order, bill, notify, repay, reserve, send, tidy


def compensation(flow: WorkflowFunction[..., Any]) -> list[Object]:
    """The compensation steps of a workflow that compiles, without what is the same for all."""
    checked = flow.check()
    assert checked.definition is not None, checked.problems
    found = flow.definition().get("compensationSteps", [])
    assert isinstance(found, list)
    steps: list[Object] = []
    for each in found:
        assert isinstance(each, dict)
        assert each.pop("type") == "task"
        steps.append(each)
    return steps


def undo(step: str, task_id: str = "bill.undo", **more: JSON) -> Object:
    written: Object = {"stepId": f"undo_{step}", "compensationFor": step, "taskId": task_id}
    return {**written, **more}


def test_every_step_of_a_task_that_can_be_undone_is_compensated() -> None:
    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        paid = bill(held)
        bill(paid)
        with when(paid["amount"] > 1000):
            bill.named("more")(order)

    assert compensation(flow) == [undo("paid"), undo("bill"), undo("more")]


def test_a_document_in_json_says_the_same() -> None:
    @workflow
    def flow(order: Order) -> None:
        paid = bill(order)  # noqa: F841 - the name of a step

    assert flow.definition()["compensationSteps"] == [
        {"stepId": "undo_paid", "compensationFor": "paid", "type": "task", "taskId": "bill.undo"}
    ]


def test_its_id_is_that_of_no_other_step() -> None:
    @workflow
    def flow(order: Order) -> None:
        paid = bill(order)
        undo_paid = tidy.after(paid)()  # noqa: F841 - the name of a step
        bill.named("x" * 64)(order)
        bill.named("x" * 63)(order)

    ids = [each["stepId"] for each in compensation(flow)]
    assert ids == ["undo_paid_2", "undo_" + "x" * 59, "undo_" + "x" * 57 + "_2"]


def test_each_item_is_undone_by_itself() -> None:
    @workflow
    def flow(orders: list[Order]) -> None:
        paid = bill.map(orders)
        loop = bill.after(paid).undo(by=notify).map(orders)  # noqa: F841 - the name of a step
        with repeat_while("ctx.index < 3"):
            again = bill({})
            final = bill.undo(  # noqa: F841 - the name of a step
                by=lambda given: notify([given["id"], again["id"]])
            )(again)

    found = compensation(flow)
    assert [each["compensationFor"] for each in found] == ["bill", "bill_2", "again", "final"]
    assert found[1] == undo("bill_2", "notify", input="ctx.bill_2")
    assert found[3] == undo("final", "notify", input="[ctx.final.id, ctx.again.id]")
    bodies = {edge["upstreamNodeID"]: edge["downstreamNodeID"] for edge in loop_edges(flow)}
    assert (bodies["paid"], bodies["loop"]) == ("bill", "bill_2")


def loop_edges(flow: WorkflowFunction[..., Any]) -> list[Any]:
    edges: Any = flow.definition()["edges"]
    return [each for each in edges if each.get("sourceHandle") == "loop"]


def test_a_step_may_be_undone_by_something_else_or_by_nothing() -> None:
    @workflow
    def flow(order: Order) -> None:
        a = bill.undo(by=notify)(order)
        b = bill.undo(by=tidy)(a)
        c = bill.undo(by=None)(b)
        d = reserve.undo(by=repay)(c)
        e = reserve.after(d).undo(notify)(d)
        bill.undo(notify)(e)

    assert compensation(flow) == [
        undo("a", "notify", input="ctx.a"),
        undo("b", "tidy"),
        undo("d"),
        undo("e", "notify", input="ctx.e"),
        undo("bill", "notify", input="ctx.bill"),
    ]


def test_a_function_says_what_it_is_given() -> None:
    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        a = bill.undo(by=lambda given: repay({"id": given["id"], "by": order["who"]}))(held)
        bill.undo(by=lambda given: send(given["boxes"], held))(a)
        bill.undo(by=lambda _: tidy())(a)

    assert compensation(flow) == [
        undo("a", input={"id": "{{ctx.a.id}}", "by": "{{ctx.input.who}}"}),
        undo("bill", "send", input={"boxes": "{{ctx.bill.boxes}}", "approval": "{{ctx.held}}"}),
        undo("bill_2", "tidy"),
    ]
    # It is read when the step is undone, and so nothing waits for it.
    edges: Any = flow.definition()["edges"]
    assert [each for each in edges if each["downstreamNodeID"] == "bill"] == [
        {"upstreamNodeID": "a", "downstreamNodeID": "bill"}
    ]


def test_text_that_looks_like_a_path_stays_text() -> None:
    @workflow
    def flow(order: Order) -> None:
        a = bill.undo(by=lambda _: notify({"x": "ctx.input.a", "y": ["steps.a.output", 1]}))(order)
        b = bill.undo(by=lambda _: notify("ctx.input.a"))(a)
        c = bill.undo(by=lambda _: notify("{{ctx.input.a}} of {{ctx.b}}"))(b)
        d = bill.undo(by=lambda _: notify([1, "ctx", None]))(c)
        bill.undo(by=lambda _: notify(None))(d)

    assert [each["input"] for each in compensation(flow)] == [
        {"x": '{{"ctx.input.a"}}', "y": ['{{"steps.a.output"}}', 1]},
        '"ctx.input.a"',
        "{{ctx.input.a}} of {{ctx.b}}",
        '[1, "ctx", null]',
        "null",
    ]


def test_a_condition_says_whether_a_step_is_undone() -> None:
    @workflow
    def flow(order: Order) -> None:
        a = bill.undo(when="steps.a.output.amount > 0")(order)
        b = bill.undo(when=a["amount"] > 0)(a)
        c = bill.undo(when=lambda given: given["amount"] > 0)(b)
        bill.undo(by=notify, when=order["undo"])(c)

    assert compensation(flow) == [
        undo("a", condition="steps.a.output.amount > 0"),
        undo("b", condition="ctx.a.amount > 0"),
        undo("c", condition="ctx.c.amount > 0"),
        undo("bill", "notify", input="ctx.bill", condition="ctx.input.undo"),
    ]


def test_what_is_declared_below_the_workflow_counts_too() -> None:
    tasks = Registry()

    @tasks.task
    def charge(order: Any) -> Any: ...

    @workflow
    def flow(order: Any) -> None:
        charge(order)

    assert compensation(flow) == []

    @charge.undo
    def refund(paid: Any) -> None: ...

    assert compensation(flow) == [undo("charge", "charge.undo")]


def test_a_workflow_may_import_what_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_late.py").write_text(
        "from tenuto.tasks import Registry\n\n"
        "@Registry().task\n"
        "def charge(order): ...\n\n"
        "@charge.undo\n"
        "def refund(paid): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    @workflow
    def flow(order: Any) -> None:
        importlib.import_module("imported_late").charge(order)

    assert compensation(flow) == [undo("charge", "charge.undo")]


class Struct(msgspec.Struct, rename="camel"):
    payment_id: str


@dataclass
class Data:
    payment_id: str


class Typed(TypedDict):
    payment_id: str


def _one(payment_id: str) -> None: ...


def _two(payment_id: str, amount: int) -> None: ...


def _optional(payment_id: str, amount: int = 0) -> None: ...


def _any(payment_id: str, **rest: Any) -> None: ...


def _context(ctx: Context) -> None: ...


def task_that_gives(kind: object) -> TaskFunction[..., Any]:
    def charge(order: Any) -> Any: ...

    charge.__annotations__["return"] = kind
    if kind is inspect.Signature.empty:
        del charge.__annotations__["return"]
    return Registry().task(charge)


def misfits(charge: TaskFunction[..., Any], undo: Any) -> list[str]:
    charge.undo(undo)

    def flow(order: Any) -> None:
        charge(order)

    try:
        workflow(flow)
    except InvalidDefinition as refused:
        return [f"{each.code} {each.message}" for each in refused.problems]
    return []


@pytest.mark.parametrize("kind", [Data, Typed])
def test_what_asks_for_more_than_the_task_gives_is_refused(kind: object) -> None:
    [told] = misfits(task_that_gives(kind), _two)
    assert told.startswith("TEN-1123 ")
    assert "asks for `amount`, which `charge` does not give" in told
    for fits in (_one, _optional, _any, _context):
        assert misfits(task_that_gives(kind), fits) == []


def test_names_are_those_of_the_json() -> None:
    [told] = misfits(task_that_gives(Struct), _optional)
    assert "asks for `payment_id`" in told


@pytest.mark.parametrize("kind", [None, type(None), str, list[int], int])
def test_parts_of_what_has_no_parts_are_refused(kind: object) -> None:
    [told] = misfits(task_that_gives(kind), _two)
    assert "asks for `payment_id`, `amount`" in told
    assert misfits(task_that_gives(kind), _context) == []


def test_what_is_given_whole_is_not_looked_into() -> None:
    assert len(misfits(task_that_gives(None), _one)) == 1
    some: tuple[object, ...] = (str, Data, dict[str, Any], Any, "NotThere", Data | None)
    for kind in some:
        assert misfits(task_that_gives(kind), _one) == []
    some = (dict, dict[str, Any], Any, Result, inspect.Signature.empty, "NotThere", Data | None)
    for kind in some:
        assert misfits(task_that_gives(kind), _two) == []


def test_a_parameter_that_no_output_can_become_is_refused() -> None:
    def refund(paid: set[int]) -> None: ...

    [told] = misfits(task_that_gives(Any), refund)
    assert told.startswith("TEN-1112 ")


def test_a_mistake_in_a_condition_is_told_with_its_line() -> None:
    @workflow
    def flow(order: Order) -> None:
        bill.undo(when="ctx.input. >")(order)

    [problem] = flow.check().problems
    assert (problem.code, problem.path.rpartition(":")[0]) == (
        "TEN-1030",
        "tests/python_form/test_undo.py",
    )
    assert "`condition`" in problem.message
    assert 'bill.undo(when="ctx.input. >")(order)' in problem.message


def test_a_workflow_is_undone_by_its_steps_alone() -> None:
    @workflow
    def flow(order: Order) -> None:
        bill(order)

    with pytest.raises(TenutoError, match="is not a task") as refused:
        flow.undo(tidy)
    assert refused.value.code == "TEN-1802"


def test_what_is_said_about_a_step_means_nothing_outside_a_workflow() -> None:
    with pytest.raises(TenutoError, match="workflow function") as refused:
        bill.undo(by=None)({})
    assert refused.value.code == "TEN-1113"


def test_what_undoes_a_task_may_be_a_step_too() -> None:
    @workflow
    def flow(order: Order) -> None:
        paid = bill(order)
        repay(paid)

    assert compensation(flow) == [undo("paid")]
    nodes: Any = flow.definition()["nodes"]
    assert nodes[1] == {
        "id": "bill_undo",
        "type": "task",
        "config": {
            "taskId": "bill.undo",
            "input": "{{ctx.paid}}",
            "outputVariable": "bill_undo",
            "joinMode": {"atLeast": 1},
        },
    }
