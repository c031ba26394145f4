"""A nightly batch as a loop: one bad account spoils its own bill and no other.

tenuto run examples/nightly_batch/nightly_batch.json --input '{"night": "2026-03-01"}'
"""

from __future__ import annotations

from typing import Any

from tenuto import Context, TaskError, task

USED = {"ada": 12, "ben": 30, "cleo": None, "dora": 7}
"""What each account owes; of Cleo nobody knows where she lives."""


@task
def list_accounts() -> list[str]:
    return list(USED)


@task
def add_up(account: str, night: str) -> dict[str, Any]:
    owed = USED[account]
    if owed is None:
        raise TaskError("NO_ADDRESS", f"nobody knows where {account} lives", retryable=False)
    return {"account": account, "night": night, "amount": owed}


@task
async def send_bill(ctx: Context, bill: dict[str, Any]) -> str:
    """The key has the number of the iteration in it: each bill is sent once."""
    return f"{bill['account']} owes {bill['amount']} (bill {ctx.idempotency_key.split(':')[-1]})"


@task
def write_report(
    night: str, bills: list[str | None], errors: list[dict[str, Any]]
) -> dict[str, Any]:
    """What failed is null among the bills, and stands among the errors with its index."""
    return {
        "night": night,
        "sent": [bill for bill in bills if bill is not None],
        "failed": [each["error"]["message"] for each in errors],
    }
