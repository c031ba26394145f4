"""A gateway that is slow to wake up, and a card that is declined.

tenuto run examples/retry/retry.yaml --input '{"customer": "Ada", "amount": 12}'
"""

from __future__ import annotations

from typing import Any

from tenuto import Context, TaskError, task


@task
async def charge_card(ctx: Context, order: dict[str, Any]) -> dict[str, Any]:
    """The key is the same on every attempt: a real gateway charges once."""
    if order.get("card") == "declined":
        raise TaskError("CARD_DECLINED", "insufficient funds", retryable=False)
    if ctx.attempt <= order.get("failures", 2):
        raise TaskError("GATEWAY_TIMEOUT", "the gateway did not answer")
    return {"charged": order["amount"], "key": ctx.idempotency_key, "attempt": ctx.attempt}


@task
async def send_receipt(order: dict[str, Any]) -> dict[str, Any]:
    return {"receiptFor": order["customer"]}


@task
async def ask_customer(customer: str, because: str) -> dict[str, str]:
    return {"asked": customer, "because": because}
