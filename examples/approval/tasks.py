"""A person decides, by an event; after three days without one somebody else is asked.

tenuto run examples/approval/approval.json --input '{"expenseId": "e-7", "amount": 90}'
"""

from __future__ import annotations

from typing import Any

from tenuto import task


@task
async def ask_for_approval(expense: dict[str, Any]) -> dict[str, Any]:
    return {"asked": "the head of department", "about": expense["expenseId"]}


@task
async def pay_expense(expenseId: str, by: str) -> dict[str, str]:  # noqa: N803 - as in the input
    return {"expense": expenseId, "paid": "yes", "approvedBy": by}


@task
async def decline_expense(expenseId: str, by: str) -> dict[str, str]:  # noqa: N803 - as in the input
    return {"expense": expenseId, "paid": "no", "declinedBy": by}


@task
async def escalate_expense(expense: dict[str, Any]) -> dict[str, Any]:
    return {"escalated": expense["expenseId"]}
