"""An order as a Python function: it is called once, and describes the same graph as JSON.

tenuto run examples/order_flow/order_flow.py --input '{"orderId": 7, "amount": 12}'
"""

from __future__ import annotations

from typing import Any

from tenuto import Context, Retry, one_of, otherwise, task, wait_event, when, workflow

Order = dict[str, Any]


@task
def reserve_stock(order: Order) -> Order:
    return {"reservation": f"r-{order['orderId']}"}


@task
async def score_risk(order: Order) -> int:
    return 90 if order["amount"] > 1000 else 10


@task(retry=Retry(attempts=5), timeout="PT20S")
async def take_payment(ctx: Context, order: Order) -> Order:
    """The key is the same on every attempt, so that the gateway charges once."""
    return {"paymentId": f"p-{order['orderId']}", "key": ctx.idempotency_key[-4:]}


@task
def approve(paid: Order) -> Order:
    return {"by": "nobody", "paymentId": paid["paymentId"]}


@task
def decide_without_answer(order: Order) -> Order:
    return {"by": "the clock", "orderId": order["orderId"]}


@task
def ship(reservation: str, approved: Order) -> Order:
    return {"shipped": reservation, "approvedBy": approved["by"]}


@workflow("order_flow")
def order_flow(order: Order) -> Order:
    """Reserve and score at once, charge, ask a person if the order is large, and ship."""
    held = reserve_stock(order)
    risk = score_risk(order)  # shares no data with `held`, so it runs beside it
    paid = take_payment.after(held, risk)(order)
    with when(risk > 50):
        asked = wait_event(
            "order.approved",
            dict[str, Any],
            where="event.payload.paymentId === ctx.paid.paymentId",
            timeout="P3D",
            on_timeout=decide_without_answer,
        )
    with otherwise():
        auto = approve(paid)
    return ship(held["reservation"], one_of(asked, auto))
