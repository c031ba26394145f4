"""An order that takes back what it did when it fails or is cancelled.

tenuto run examples/saga/saga.py:saga --input '{"orderId": 7, "items": ["oak"], "to": "Rome"}'
"""

from __future__ import annotations

from typing import Any

from tenuto import Context, Retry, TaskError, task, wait_event, workflow

Order = dict[str, Any]


@task
def reserve_items(order: Order) -> Order:
    return {"reservation": f"r-{order['orderId']}"}


@reserve_items.undo
def release_items(held: Order) -> str:
    """Gets what `reserve_items` gave."""
    return f"released {held['reservation']}"


@task(retry=Retry(attempts=5), timeout="PT20S")
async def bill_card(order: Order) -> Order:
    return {"paymentId": f"p-{order['orderId']}", "amount": 10 * len(order["items"])}


@bill_card.undo(retry=Retry(attempts=20), timeout="PT20S")
async def refund_card(ctx: Context, paymentId: str, amount: int) -> str:  # noqa: N803 - as JSON has it
    """Gets the parts of what `bill_card` gave; the key is the same on every attempt."""
    assert ctx.undo is not None
    why = ctx.undo.reason or "the order failed"
    return f"refunded {amount} of {paymentId} ({why})"


@task
def pack_item(item: str) -> Order:
    return {"box": f"box of {item}"}


@pack_item.undo
def unpack_item(packed: Order) -> str:
    return f"unpacked the {packed['box']}"


@task
def ship_boxes(boxes: list[Order], to: str) -> Order:
    if to == "Atlantis":
        raise TaskError("NO_COURIER", "nobody sails to Atlantis", retryable=False)
    return {"shipped": [each["box"] for each in boxes], "to": to}


@workflow("saga")
def saga(order: Order) -> Order:
    """Reserve, charge, pack each item, and ship."""
    held = reserve_items(order)
    paid = bill_card.after(held)(order)
    boxes = pack_item.after(paid).map(order["items"])
    return ship_boxes(boxes, order["to"])


@workflow("patient_saga")
def patient_saga(order: Order) -> Order:
    """The same, but nothing is shipped before the customer says so."""
    held = reserve_items(order)
    paid = bill_card.after(held)(order)
    wait_event("order.confirmed", where="event.payload.paymentId === ctx.paid.paymentId")
    return ship_boxes([{"box": paid["paymentId"]}], order["to"])
