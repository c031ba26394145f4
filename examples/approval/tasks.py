r"""A person decides; the manager is reminded, and after four days the board may decide as well.

tenuto run examples/approval/approval.json \
    --input '{"expenseId": "e-7", "amount": 90, "manager": "ada"}'
"""

from __future__ import annotations

from typing import Any

from tenuto import task


@task
async def pay_expense(expenseId: str, by: str) -> dict[str, str]:  # noqa: N803 - as in the input
    return {"expense": expenseId, "paid": "yes", "approvedBy": by}


@task
async def decline_expense(expenseId: str, note: str) -> dict[str, str]:  # noqa: N803 - as in the input
    return {"expense": expenseId, "paid": "no", "because": note}


@task
async def remember_expense(expense: dict[str, Any]) -> dict[str, Any]:
    return {"expense": expense["expenseId"], "paid": "not yet"}
