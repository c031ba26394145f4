# ruff: noqa: ANN401, B018, PLR0915, PLW0108
"""Workflows with planted mistakes, each marked: type checkers find these, and nothing else."""

from __future__ import annotations

from typing import Any, assert_type

from tenuto import (
    Context,
    Tenuto,
    approval,
    child,
    event,
    for_each,
    one_of,
    otherwise,
    set_values,
    task,
    wait_event,
    wait_first,
    when,
    workflow,
)
from tenuto.python_form.approvals import Decision


class Payment:
    amount: float
    id: str


@task
async def charge(ctx: Context, order: dict[str, Any]) -> Payment: ...  # type: ignore[empty-body]


@task(timeout="PT20S")
def pack(item: str) -> int:
    return len(item)


@task
def label(item: str, colour: str) -> str:
    return f"{colour} {item}"


@task
def weigh(ctx: Context, item: str) -> float:
    return len(item)


@task
def tag(ctx: Context, item: str, colour: str) -> str:
    return f"{colour} {item}"


@task
def count(item: str, times: int) -> int:
    return len(item) * times


@task
def pick(item: Any) -> int:
    return len(item)


@charge.undo
async def refund(ctx: Context, paid: Payment) -> bool: ...  # type: ignore[empty-body]


@pack.undo(timeout="PT20S")
def unpack(size: int) -> str:
    return str(size)


@workflow
def order_flow(order: dict[str, Any]) -> Payment:
    paid = charge(order)
    assert_type(paid, Payment)
    assert_type(charge.after(paid)(order), Payment)
    assert_type(pack.map(["a"]), list[int])
    assert_type(label.map(["a"], colour="red"), list[str])
    assert_type(label.map([{"item": "a", "colour": "red"}]), list[str])
    assert_type(weigh.map(["a"], at_most=2), list[float])
    assert_type(weigh.after(paid).map(["a"]), list[float])
    assert_type(tag.map(["a"], colour="red"), list[str])
    assert_type(tag.map([{"item": "a", "colour": "red"}], on_error="continue"), list[str])
    assert_type(label.map(["red"], item="a"), list[str])
    assert_type(tag.map(["red"], item="a"), list[str])
    assert_type(count.map([7], item="a"), list[int])
    assert_type(pick.map([7]), list[int])
    assert_type(refund(paid), bool)
    assert_type(unpack(7), str)
    assert_type(charge.undo(by=refund)(order), Payment)
    assert_type(charge.undo(when="ctx.order.id")(order), Payment)
    assert_type(charge.after(paid).undo(by=lambda given: refund(given))(order), Payment)
    assert_type(pack.undo(by=None).map(["a"]), list[int])
    with when(paid.amount > 1000):
        asked = wait_event("a.b", Payment, timeout="P3D")
        assert_type(asked, Payment)
    with otherwise():
        other = label(paid.id, colour="red")
    assert_type(one_of(asked, other), Payment | str)
    assert_type(child(parcel, "a", weight=2), bool)
    assert_type(child.after(paid)(parcel, "a", weight=2), bool)
    assert_type(child.map(sized, ["a"], at_most=2), list[int])
    assert_type(child.map(parcel, ["a"], weight=2), list[bool])
    assert_type(pack.options(timeout="PT5S")("a"), int)
    assert_type(wait_event("a.b", Payment, count=2), list[Payment])
    assert_type(wait_event("a.b", count=2), list[dict[str, Any]])
    assert_type(set_values(total=1), dict[str, Any])
    assert_type(pack.after_any(paid, at_least=1, cancel_rest=True)("a"), int)
    wait_first(paid=event("a.b"), timeout="PT1H")
    boxes = for_each(["a"], at_most=2)
    with boxes as item:
        assert_type(item, str)
        boxes.gives(pack(item))
        with for_each([1]) as number:
            pack(number)  # type: ignore[arg-type]  # wrong
    review = approval(users=["ann"], form=Payment)
    assert_type(review, Decision[Payment])
    assert_type(review.form.amount, float)
    assert_type(review.approved, bool)
    with when(review.approved):
        pack(review.by)
        pack(review.form)  # type: ignore[arg-type]  # wrong
    pack(7)  # type: ignore[arg-type]  # wrong
    pack()  # type: ignore[call-arg]  # wrong
    pack("a", 2)  # type: ignore[call-arg]  # wrong
    pack.map([7])  # type: ignore[list-item]  # wrong
    label.map([7], colour="red")  # type: ignore[list-item]  # wrong
    weigh.map([7])  # type: ignore[list-item]  # wrong
    weigh.after(paid).map([7], at_most=2)  # type: ignore[list-item]  # wrong
    weigh.map(7)  # type: ignore[call-overload]  # wrong
    tag.map(7, colour="red")  # type: ignore[call-overload]  # wrong
    charge("order")  # type: ignore[call-overload]  # wrong
    charge.after(paid)(7)  # type: ignore[call-overload]  # wrong
    charge.after(charge)({})  # type: ignore[arg-type]  # wrong
    charge.undo(by=refund)(7)  # type: ignore[call-overload]  # wrong
    charge.undo(by=7)(order)  # type: ignore[call-overload]  # wrong
    refund(order)  # type: ignore[call-overload]  # wrong
    paid.amuont  # type: ignore[attr-defined]  # wrong
    label(paid, colour="red")  # type: ignore[arg-type]  # wrong
    child(parcel, 7, weight=2)  # type: ignore[arg-type]  # wrong
    child.map(sized, [7])  # type: ignore[arg-type]  # wrong
    review.approvd  # type: ignore[attr-defined]  # wrong
    approval(users=["ann"], deadline=5)  # type: ignore[call-overload]  # wrong
    wait_event("a.b", count="2")  # type: ignore[call-overload]  # wrong
    pack.options(timout="PT5S")  # type: ignore[call-arg]  # wrong
    for_each(7)  # type: ignore[arg-type]  # wrong
    set_values(7)  # type: ignore[call-arg]  # wrong
    wait_first(paid="a.b")  # type: ignore[arg-type]  # wrong
    wait_event("a.b", timeout=3)  # type: ignore[call-overload]  # wrong
    return paid


@workflow
def sized(ctx: Context, item: str) -> int:
    return pack(item)


@workflow("parcel")
def parcel(ctx: Context, address: str, weight: int) -> bool:
    return pack(address)  # type: ignore[return-value]  # wrong


async def main() -> None:
    async with Tenuto() as app:
        await app.start(order_flow, {"orderId": 7}, key="order-7")
        await app.deploy(parcel)
        await app.start(7)  # type: ignore[arg-type]  # wrong
