"""Tasks of a shop, for workflows that sell something."""

from __future__ import annotations

from typing import Any

from tenuto import Context, task

Order = dict[str, Any]


@task
def reserve(order: Order) -> Order:
    return {"reservation": order["orderId"]}


@task
def score(order: Order) -> int:
    return int(order["amount"])


@task
async def bill(ctx: Context, order: Order) -> Order:
    return {"paymentId": f"p-{order['orderId']}", "amount": order["amount"]}


@bill.undo
async def repay(ctx: Context, paid: Order) -> None: ...


@task
def pay(order: Order) -> Order:
    return {"paymentId": f"p-{order['orderId']}", "amount": order["amount"]}


@task
def escalate(order: Order) -> Order:
    return {"escalated": order["orderId"]}


@task
def auto_approve(paid: Order) -> Order:
    return {"approved": paid["paymentId"]}


@task
def pack(item: str) -> str:
    return f"box of {item}"


@task
def send(boxes: object, approval: object) -> Order:
    return {"boxes": boxes, "approval": approval}


@task
def notify(about: object) -> object:
    return about


@task
def tidy() -> str:
    return "tidy"
