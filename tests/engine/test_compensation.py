"""What was done is undone: through the app, on every store, across restarts and processes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenuto import Conflict, Context, InstanceRef, Status, TaskError, Tenuto, WorkflowCancelled
from tenuto.engine.verify import verify
from tenuto.model.json import Object
from tests.definition.test_samples import sample
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture(params=["memory", "sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return await fresh_database()
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'tenuto.db'}"


class Shop:
    """The tasks of the order, and what was asked of them."""

    def __init__(self, app: Tenuto) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.keys: list[str] = []
        self.shipping = asyncio.Event()
        self.broken: set[str] = set()
        outputs: dict[str, Object] = {
            "inventory_reservation_task": {"reservationId": "r1"},
            "payment_processing_task": {"paymentId": "p1", "amount": 12.5},
            "inventory_release_task": {"released": True},
            "payment_refund_task": {"refunded": True},
            "shipment_cancellation_task": {},
        }
        for name, output in outputs.items():
            self._serve(app, name, output)

        @app.task(name="shipment_task")
        async def ship(input: Any) -> None:  # noqa: ANN401
            self.asked.append(("shipment_task", input))
            self.shipping.set()
            await asyncio.Event().wait()

    def _serve(self, app: Tenuto, name: str, output: Object) -> None:
        @app.task(name=name)
        async def serve(ctx: Context, input: Any) -> Object:  # noqa: ANN401
            self.asked.append((name, input))
            self.keys.append(ctx.idempotency_key)
            if name in self.broken:
                raise TaskError("BROKEN", "out of order", retryable=False)
            return output

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


async def kinds(order: InstanceRef) -> list[str]:
    return [
        f"{entry['eventType']} {entry['nodeId'] or ''}".strip()
        for entry in await order.history()
        if str(entry["eventType"]).startswith(("COMPENSATION", "STATUS"))
    ]


async def proven(app: Tenuto) -> None:
    async for verdict in verify(app.engine.store, app.engine.plans):
        assert verdict.differences == ()


async def placed(app: Tenuto, shop: Shop) -> InstanceRef:
    """The order of the first seed, on its way to the customer."""
    document = sample("compensation")
    assert isinstance(document, dict)
    await app.deploy(document)
    order = await app.start("order_processing", {"orderId": 7})
    await shop.shipping.wait()
    return order


async def test_the_order_of_the_first_seed_is_refunded_and_released(url: str) -> None:
    async with Tenuto(url) as app:
        shop = Shop(app)
        order = await placed(app, shop)
        await order.cancel("customer changed their mind")
        with pytest.raises(WorkflowCancelled):
            await order.result(timeout=20)
        assert shop.names[3:] == ["payment_refund_task", "inventory_release_task"]
        refund, release = (input for _, input in shop.asked[3:])
        assert refund == {
            "paymentId": "p1",
            "amount": 12.5,
            "reason": "customer changed their mind",
        }
        assert release["originalOutput"] == {"reservationId": "r1"}
        assert release["workflowInput"] == {"orderId": 7}
        assert release["cancellation"]["requestedBy"] == "app"
        assert shop.keys[2:] == [f"{order.id}:refund_payment", f"{order.id}:release_inventory"]
        assert await kinds(order) == [
            "STATUS_CHANGED",
            "COMPENSATION_PLANNED",
            "COMPENSATION_DISPATCHED refund_payment",
            "COMPENSATION_COMPLETED refund_payment",
            "COMPENSATION_DISPATCHED release_inventory",
            "COMPENSATION_COMPLETED release_inventory",
            "COMPENSATION_ENDED",
            "STATUS_CHANGED",
        ]
        details = await order.details()
        undone = details["compensationState"]
        assert isinstance(undone, dict)
        assert undone["status"] == "COMPLETED"
        assert undone["plan"] == undone["completed"] == ["refund_payment", "release_inventory"]
        assert await order.status() is Status.CANCELLED
        with pytest.raises(Conflict):
            await order.retry()
        await proven(app)
