"""Tasks of the sample workflows."""

from __future__ import annotations

from tenuto import TaskError, task


@task
async def reserve(order: dict[str, object]) -> dict[str, object]:
    return {"reservation": f"R-{order['orderId']}"}


@task
async def ship(order: dict[str, object]) -> str:
    return f"shipped {order['orderId']}"


@task
async def charge(order: dict[str, object]) -> str:
    raise TaskError("CARD_DECLINED", "the card was declined", retryable=False)
