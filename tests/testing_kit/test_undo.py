"""What undoes a task is stubbed and watched like any other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenuto.model.json import Object
from tenuto.tasks import Context, Facts, Registry
from tenuto.tasks.undo import UndoFacts
from tenuto.testing.task_mocks import TaskMocks
from tests.tasks.stage import stage

EVERYTHING: Object = {
    "originalOutput": {"paymentId": "p-7", "amount": 9},
    "workflowInput": {"orderId": 7},
    "workflowState": {},
    "cancellation": None,
}
FACTS = Facts(
    undo=UndoFacts(
        step_id="paid",
        has_input=False,
        output=EVERYTHING["originalOutput"],
        everything=lambda: EVERYTHING,
    )
)

registry = Registry()


@registry.task
def charge(order: Any) -> Any: ...  # noqa: ANN401 - any order


@charge.undo
async def refund(ctx: Context, paymentId: str, amount: int) -> str:  # noqa: N803 - as JSON has it
    assert ctx.undo is not None
    assert amount == 9
    return f"{paymentId} of {ctx.undo.step_id}"


@pytest.mark.asyncio
async def test_what_undoes_a_task_is_stubbed_like_a_task() -> None:
    def instead(ctx: Context, amount: int, currency: str = "EUR") -> str:
        assert ctx.undo is not None
        return f"{amount} {currency} of {ctx.undo.step_id}"

    tasks = TaskMocks(behind=registry)
    tasks.now = lambda: datetime(2026, 1, 1, tzinfo=UTC)
    async with stage(tasks) as on:
        on.start("charge.undo", EVERYTHING, facts=FACTS)
        assert await on.output(1) == "p-7 of paid"
        tasks.stub(refund, (ConnectionError("away"), instead, "done"), timedelta(0))
        for attempt in (2, 3, 4):
            on.start("charge.undo", EVERYTHING, facts=FACTS, attempt=attempt)
        assert (await on.failure(2)).code == "ConnectionError"
        assert [await on.output(3), await on.output(4)] == ["9 EUR of paid", "done"]
    assert [call.task for call in tasks.calls] == ["charge.undo"] * 4
    assert tasks.calls[0].input == EVERYTHING["originalOutput"]
