"""The sample of the specification: the part between the lines is as it stands there."""

from __future__ import annotations

from typing import Any

from tenuto import task


class Gateway:
    """Takes money."""

    async def charge(self, amount: int, key: str) -> str:
        return f"p{amount}"


gateway = Gateway()


@task(name="sample.reserve")
def reserve(order: dict) -> dict:
    return {"held": order["orderId"]}


@task(name="sample.score")
def score(order: dict) -> int:
    return 1


@task(name="sample.escalate")
def escalate(order: dict) -> dict:
    return {"escalated": order["orderId"]}


@task(name="sample.auto_approve")
def auto_approve(paid: dict) -> dict:
    return {"auto": paid["paymentId"]}


@task(name="sample.pack")
def pack(item: str) -> str:
    return f"box of {item}"


SHIPPED: list[Any] = []


@task(name="sample.ship")
def ship(boxes: list[str], approval: dict[str, Any]) -> None:
    SHIPPED.append((boxes, approval))


# fmt: off
# ruff: noqa: E402, E501, I001
# mypy: disable-error-code="type-arg"
# ---------------------------------------------------------------------------------------------
from tenuto import Context, Retry, Tenuto, event, one_of, otherwise, sleep, task, wait_event, when, workflow  # noqa: F401

@task(retry=Retry(attempts=5), timeout="PT20S")
async def charge(ctx: Context, order: dict) -> dict:      # ctx is optional and comes first; sync functions are fine
    return {"paymentId": await gateway.charge(order["amount"], key=ctx.idempotency_key)}

@charge.undo                                              # its compensation
async def refund(ctx: Context, paid: dict) -> None: ...

@workflow("order", cancel_on=event("order.cancelled").where("event.payload.orderId === workflow.input.orderId").undo())
def order_flow(order: dict) -> dict:
    held = reserve(order)
    risk = score(order)                                   # no shared data: runs beside reserve
    paid = charge.after(held, risk)(order)                # .after: join all, .after_any: join any
    with when(order["amount"] > 1000):
        asked = wait_event("approval.given", where="event.payload.paymentId === ctx.paid.paymentId",
                           timeout="P3D", on_timeout=escalate)
    with otherwise():
        auto = auto_approve(paid)
    boxes = pack.map(order["items"], at_most=5)
    ship(boxes, one_of(asked, auto))
    return paid
# ---------------------------------------------------------------------------------------------
