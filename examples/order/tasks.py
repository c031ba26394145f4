"""An order that waits for its payment: its tasks are plain functions, known by name.

tenuto run examples/order/order.json --input '{"orderId": "A1", "items": ["pen"]}'
"""

from __future__ import annotations

import asyncio
from typing import Any

from tenuto import Context, task


@task
async def order_processing_task(order: dict[str, Any]) -> dict[str, Any]:
    """Take the order in; slow enough to watch."""
    await asyncio.sleep(order.get("workSeconds", 0.5))
    return {"orderId": order["orderId"], "reserved": order.get("items", [])}


@task
async def complete_order_task(ctx: Context, order: dict[str, Any]) -> dict[str, Any]:
    """Ship what was paid; the wait's output says by which payment."""
    paid: Any = ctx.previous_outputs["wait_for_payment"]
    return {"orderId": order["orderId"], "paidWith": paid["payload"]["id"]}


@task
async def payment_reminder_task(order: dict[str, Any]) -> dict[str, Any]:
    """No payment came within three days."""
    return {"orderId": order["orderId"], "reminded": True}
