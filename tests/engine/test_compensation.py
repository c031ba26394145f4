"""What was done is undone: through the app, on every store, across restarts and processes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenuto import (
    Conflict,
    Context,
    InstanceRef,
    Settings,
    Status,
    TaskError,
    Tenuto,
    WorkflowCancelled,
    WorkflowFailed,
)
from tenuto.engine.upkeep.verification import verify
from tenuto.model.json import JSON, Object
from tenuto.store.memory import MemoryStore
from tenuto.store.memory.disk import MemoryDisk
from tests.definition.test_samples import sample
from tests.engine.situations import until, until_waiting
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
        self.may_ship: asyncio.Event | None = None
        """What shipping waits for, whatever it is told; None: it obeys."""
        self.broken: set[str] = set()
        self.hanging: set[str] = set()
        self.hangs = asyncio.Event()
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
            if self.may_ship is None:
                await asyncio.Event().wait()
            while self.may_ship is not None and not self.may_ship.is_set():
                with suppress(asyncio.CancelledError):
                    await self.may_ship.wait()

    def _serve(self, app: Tenuto, name: str, output: Object) -> None:
        @app.task(name=name)
        async def serve(ctx: Context, input: Any) -> Object:  # noqa: ANN401
            self.asked.append((name, input))
            self.keys.append(ctx.idempotency_key)
            if name in self.hanging:
                self.hangs.set()
                await asyncio.Event().wait()
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


def order_document() -> Object:
    document = sample("compensation")
    assert isinstance(document, dict)
    return document


async def placed(app: Tenuto, shop: Shop) -> InstanceRef:
    """The order of the first seed, on its way to the customer."""
    await app.deploy(order_document())
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


async def test_what_was_being_undone_goes_on_in_the_next_process(tmp_path: Path) -> None:
    """After a clean stop it is the next attempt of the same compensation, and nothing before it."""
    url = f"sqlite:///{tmp_path / 'tenuto.db'}"
    async with Tenuto(url, settings=Settings(stop_grace=0.01)) as app:
        shop = Shop(app)
        shop.hanging.add("payment_refund_task")
        order = await placed(app, shop)
        await order.cancel("why")
        await shop.hangs.wait()
        assert await order.status() is Status.RUNNING
        with pytest.raises(Conflict):
            await order.pause()
        await order.cancel("again")
    app = Tenuto(url)
    shop = Shop(app)
    async with app:
        order = await app.instance(order.id)
        with pytest.raises(WorkflowCancelled):
            await order.result(timeout=20)
        assert shop.names == ["payment_refund_task", "inventory_release_task"]
        assert shop.asked[0][1]["reason"] == "why"
        tries = [
            entry["attempt"]
            for entry in await order.history()
            if entry["eventType"] == "COMPENSATION_DISPATCHED"
        ]
        assert tries == [1, 2, 1]
        await proven(app)


async def test_a_task_that_ignores_cancellation_holds_up_nothing_beyond_its_grace() -> None:
    """Its late result is refused and kept as a dead letter."""
    document: Object = {**order_document(), "options": {"cancelGrace": "PT0.05S"}}
    async with Tenuto() as app:
        shop = Shop(app)
        shop.may_ship = asyncio.Event()
        await app.deploy(document)
        order = await app.start("order_processing", {"orderId": 7})
        await shop.shipping.wait()
        await order.cancel()
        with pytest.raises(WorkflowCancelled):
            await order.result(timeout=20)
        assert shop.names[-2:] == ["payment_refund_task", "inventory_release_task"]
        shop.may_ship.set()

        async def is_kept() -> bool:
            letters = await app.engine.store.dead_letters.page("default", 10)
            return [letter.kind for letter in letters] == ["late-result"]

        await until(app, is_kept)
        assert shop.names[-1] == "inventory_release_task", "what came too late is not undone"


async def test_a_failed_compensation_is_kept_and_can_be_tried_again() -> None:
    async with Tenuto() as app:
        shop = Shop(app)
        shop.broken.add("payment_refund_task")
        order = await placed(app, shop)
        foreseen: Any = await order.undo_plan("why")
        planned = [item["stepId"] for item in foreseen["plan"]]
        assert planned == ["refund_payment", "release_inventory"]
        assert foreseen["plan"][0]["input"]["reason"] == "why"
        await order.cancel("why")
        with pytest.raises(WorkflowCancelled):
            await order.result(timeout=20)
        undone: Any = (await order.details())["compensationState"]
        assert undone["status"] == "COMPLETED_WITH_ERRORS"
        assert undone["completed"] == ["release_inventory"]
        assert undone["failed"][0]["error"] == "out of order"
        [letter] = await app.engine.store.dead_letters.page("default", 10)
        assert (letter.kind, letter.node) == ("compensation-failed", "refund_payment")
        shop.broken.clear()
        assert await order.retry_compensation("refund_payment") is Status.CANCELLED

        async def is_whole() -> bool:
            undone: Any = (await order.details())["compensationState"]
            return bool(undone["status"] == "COMPLETED")

        await until(app, is_whole)
        await proven(app)


async def test_what_was_done_stays_where_nobody_wants_it_undone() -> None:
    async with Tenuto() as app:
        shop = Shop(app)
        order = await placed(app, shop)
        await order.cancel(should_compensate=False)
        with pytest.raises(WorkflowCancelled):
            await order.result(timeout=20)
        assert (await order.details())["compensationState"] is None
        assert len(shop.names) == 3


async def test_children_undo_themselves_through_letters(url: str) -> None:
    inner: Object = {
        "id": "inner",
        "steps": [
            {"stepId": "a", "type": "TASK", "taskId": "work", "transitions": {"default": "b"}},
            {"stepId": "b", "type": "TASK", "taskId": "work"},
        ],
        "compensationSteps": [
            {"stepId": f"undo_{step}", "compensationFor": step, "taskId": "undo"}
            for step in ("a", "b")
        ],
    }
    outer: Object = {
        "id": "outer",
        "steps": [
            {
                "stepId": "call",
                "type": "SUB_WORKFLOW",
                "workflowId": "inner",
                "transitions": {"default": "last"},
            },
            {"stepId": "last", "type": "TASK", "taskId": "fail"},
        ],
    }
    async with Tenuto(url) as app:
        undone: list[str] = []

        @app.task
        async def work(input: JSON) -> str:
            return "done"

        @app.task
        async def fail(input: JSON) -> None:
            raise TaskError("NO", "never", retryable=False)

        @app.task
        async def undo(ctx: Context, input: JSON) -> None:
            undone.append(ctx.step_id)

        await app.deploy(inner)
        await app.deploy(outer)
        parent = await app.start("outer", {})
        with pytest.raises(WorkflowFailed):
            await parent.result(timeout=20)
        assert undone == ["undo_b", "undo_a"]
        shown: Any = (await parent.details())["compensationState"]
        assert (shown["status"], shown["completed"]) == ("COMPLETED", ["call"])
        [child] = await app.instances(workflow="inner")
        details: Any = await (await app.instance(child.id)).details()
        assert details["status"] == "COMPLETED", "being undone changes no status"
        assert details["compensationState"]["completed"] == ["undo_b", "undo_a"]
        await proven(app)


async def test_compensations_are_left_to_a_process_that_has_their_tasks() -> None:
    """A compensation is claimed with the compensation step's id as `stepId` and the key
    `<instance>:<compensationStep>`.
    """
    disk = MemoryDisk()
    waiting = Settings(unknown_tasks="wait", mail_every=0.05, jobs_every=0.05, watch_every=0.05)
    document: Any = order_document()
    document["steps"][2] = {"stepId": "ship_order", "type": "EVENT_WAIT", "eventPattern": "go"}
    async with (
        Tenuto(MemoryStore(disk, shared=True), settings=waiting) as front,
        Tenuto(MemoryStore(disk, shared=True), settings=waiting) as back,
    ):

        @front.task(name="inventory_reservation_task")
        async def reserve(input: Any) -> Object:  # noqa: ANN401
            return {"reservationId": "r1"}

        @front.task(name="payment_processing_task")
        async def pay(input: Any) -> Object:  # noqa: ANN401
            return {"paymentId": "p1", "amount": 1}

        shop = Shop(back)
        await front.deploy(document)
        order = await front.start("order_processing", {"orderId": 7})
        await until_waiting(front, 1, "ship_order")
        await order.cancel("why")
        with pytest.raises(WorkflowCancelled):
            await order.result(timeout=20)
        assert shop.names == ["payment_refund_task", "inventory_release_task"]
        assert shop.keys == [f"{order.id}:refund_payment", f"{order.id}:release_inventory"]
