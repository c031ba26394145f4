"""The order desk, with the real sandbox, a stock in SQLite and a carrier on this machine."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tenuto import InstanceRef, Settings, Tenuto, WorkflowFailed
from tenuto.cli.dev_files import deploy_files, read_files
from tenuto.cli.sources import read_source
from tenuto.cli.task_modules import load_file
from tenuto.definition.nodes import BY_CONFIG, TYPES
from tenuto.model.json import JSON, Object
from tests.cli.waiting import until, waits_for_event
from tests.kit.waits import every_wait_has_looked_back

DESK = Path(__file__).parents[2] / "examples" / "order_desk"
FILES = [DESK / name for name in ("order_desk.yaml", "delivery.yaml", "by-sku.json", "stock.json")]


class Desk:
    """The app that serves the order desk, and the carrier that it calls."""

    def __init__(self, app: Tenuto, carrier: Any) -> None:  # noqa: ANN401 - of a file
        self.app = app
        self.carrier = carrier

    async def start(self, *lines: Object, to: str = "Rome") -> InstanceRef:
        order: JSON = {
            "orderId": "A1",
            "to": to,
            "lines": [*lines],
            "carrier": self.carrier.url,
            "packing": "PT0.01S",
        }
        return await self.app.start("order_desk", order)

    async def pay(self, order: InstanceRef) -> JSON:
        """Pay for an order once it waits for its payment, and return its output."""
        await until(self.app, order, waits_for_event)
        await every_wait_has_looked_back(self.app)
        assert (await self.app.publish("payment.received", {"orderId": "A1"})).resumed == 1
        return await order.result(timeout=20)


@asynccontextmanager
async def order_desk(folder: Path) -> AsyncIterator[Desk]:
    load_file(DESK / "services" / "stock.py").make_stock(folder)
    module = load_file(DESK / "services" / "carrier.py")
    settings = Settings(data_folder=str(folder), private_networks={"*": ("127.0.0.1",)})
    with module.Carrier(0) as carrier:
        serving = threading.Thread(target=carrier.serve_forever, args=(0.01,))
        serving.start()
        try:
            url = f"sqlite:///{folder / 'store.db'}"
            async with Tenuto(url, settings=settings) as app:
                await app.secrets.put("CARRIER_KEY", module.KEY, destinations=["127.0.0.1"])
                await deploy_files(app, read_files([], FILES, "none"), lambda _: None, "none")
                yield Desk(app, carrier)
        finally:
            carrier.shutdown()
            serving.join()


def line(sku: str, quantity: int, price: float = 40) -> Object:
    return {"sku": sku, "quantity": quantity, "price": price}


def test_the_order_desk_and_its_child_use_every_node_type() -> None:
    sources = [read_source(file).checked() for file in FILES[:2]]
    used = {BY_CONFIG[type(node.config)].tag for each in sources for node in each.graph.nodes}
    assert used == {each.tag for each in TYPES}


@pytest.mark.asyncio
async def test_an_order_that_is_paid_is_shipped_once(tmp_path: Path) -> None:
    async with order_desk(tmp_path) as desk:
        order = await desk.start(line("oak", 10), line("elm", 5))
        assert await desk.pay(order) == {
            "orderId": "A1",
            "status": "shipped",
            "total": 540,
            "tracking": "T-A1",
        }
        assert [*desk.carrier.shipments.values()] == [{"tracking": "T-A1", "pieces": 15}]


@pytest.mark.asyncio
async def test_an_order_of_missing_articles_publishes_them_and_fails(tmp_path: Path) -> None:
    async with order_desk(tmp_path) as desk:
        order = await desk.start(line("oak", 1), line("ash", 1), line("yew", 1))
        with pytest.raises(WorkflowFailed, match="out of stock: ash, yew"):
            await order.result(timeout=20)
        history = str(await order.history())
        assert "stock.missing" in history
        assert desk.carrier.shipments == {}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("decision", "status"), [("approved", "shipped"), ("rejected", "declined")]
)
async def test_a_large_order_waits_for_a_decision_of_sales(
    tmp_path: Path, decision: str, status: str
) -> None:
    async with order_desk(tmp_path) as desk:
        order = await desk.start(line("oak", 40))
        await until(desk.app, order, waits_for_event)
        await order.decide("review", decision, by="ada", roles=["sales"])
        output = await (desk.pay(order) if decision == "approved" else order.result(timeout=20))
        assert isinstance(output, dict)
        assert output["status"] == status
        assert len(desk.carrier.shipments) == (decision == "approved")


@pytest.mark.asyncio
async def test_an_order_that_the_carrier_refuses_is_refunded(tmp_path: Path) -> None:
    async with order_desk(tmp_path) as desk:
        output = await desk.pay(await desk.start(line("oak", 1), to="Atlantis"))
        assert isinstance(output, dict)
        assert (output["status"], output["invoice"]) == ("refunded", "i-A1")
        assert "the carrier does not deliver to Atlantis" in str(output["because"])
        assert desk.carrier.shipments == {}
