"""The order that the product was conceived with, word for word: waited for, late, cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tenuto.definition import parse_document
from tenuto.model.json import Object
from tenuto.tasks.registry import Registry
from tenuto.testing import Engine

SAMPLES = Path(__file__).parents[1] / "definition" / "samples"
ORDER: Object = {"orderId": "o-7"}
PAID: Object = {"orderId": "o-7", "id": "p-9", "amount": 120}


def sample(name: str) -> Object:
    file = SAMPLES / f"{name}.json"
    document = parse_document(file.read_bytes(), file.name)
    assert isinstance(document, dict)
    return document


TASKS = Registry()
for name in (
    "order_processing_task",
    "complete_order_task",
    "payment_reminder_task",
    "inventory_reservation_task",
    "payment_processing_task",
    "shipment_task",
    "inventory_release_task",
    "payment_refund_task",
    "shipment_cancellation_task",
):

    @TASKS.task(name=name)
    def done() -> None:
        """Whatever it is, it is done."""


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(tasks=TASKS) as made:
        yield made


@pytest.fixture
def order() -> Object:
    """The steps of the one sample with the triggers of the other."""
    return sample("cancellation") | sample("event_wait")


def test_an_order_that_is_paid_is_completed_with_what_was_paid(
    engine: Engine, order: Object
) -> None:
    run = engine.start(order, ORDER).until(waiting_for="payment.received")
    engine.publish("payment.received", PAID | {"orderId": "o-8"})
    assert run.status == "WAITING_FOR_EVENT"
    engine.publish("payment.received", PAID)
    run.finished()
    assert run.path == ["process_order", "wait_for_payment", "complete_order"]
    variables = run.state["variables"]
    assert variables == {"paymentId": "p-9", "paymentAmount": 120}


def test_an_order_that_nobody_pays_is_reminded_of_after_three_days(
    engine: Engine, order: Object
) -> None:
    run = engine.start(order, ORDER).until(waiting_for="payment.received")
    before = engine.now
    engine.skip(days=2, hours=23, minutes=59)
    assert run.status == "WAITING_FOR_EVENT"
    run.finished()
    assert engine.now - before == timedelta(days=3)
    assert run.path == ["process_order", "wait_for_payment", "handle_payment_timeout"]
    engine.publish("payment.received", PAID)
    assert run.status == "COMPLETED"


def test_an_order_that_is_cancelled_ends_wherever_it_is(engine: Engine, order: Object) -> None:
    run = engine.start(order, ORDER).until(waiting_for="payment.received")
    engine.publish("order.cancelled", {"orderId": "o-8"})
    assert run.status == "WAITING_FOR_EVENT"
    engine.publish("order.cancelled", {"orderId": "o-7"}, id="gone")
    run.finished()
    assert run.status == "CANCELLED"
    [asked] = [row for row in run.history if row["eventType"] == "CANCEL_REQUESTED"]
    assert asked["payload"] == {
        "by": "system",
        "reason": "Order was cancelled by customer",
        "source": "EVENT",
        "shouldCompensate": True,
        "eventId": "gone",
    }
    engine.publish("payment.received", PAID)
    engine.skip(days=4)
    assert run.path == ["process_order"]


@pytest.mark.parametrize(("attempts", "status"), [(3, "WAITING_FOR_EVENT"), (4, "CANCELLED")])
def test_an_order_whose_payment_failed_too_often_is_cancelled(
    engine: Engine, order: Object, attempts: int, status: str
) -> None:
    run = engine.start(order, ORDER).until(waiting_for="payment.received")
    engine.publish("payment.failed", ORDER | {"attempts": attempts})
    assert run.status == status


def test_the_whole_order_of_the_first_seed(engine: Engine) -> None:
    """Its steps, triggers and compensations word for word; one edge leads from part to part."""
    selling, paying = sample("compensation"), sample("event_wait")["steps"]
    steps, undoing = selling["steps"], selling["compensationSteps"]
    assert isinstance(steps, list)
    assert isinstance(paying, list)
    assert isinstance(steps[-1], dict)
    steps[-1]["transitions"] = {"default": "process_order"}
    document = sample("cancellation") | {"steps": [*steps, *paying], "compensationSteps": undoing}
    engine.stub("inventory_reservation_task", {"reservationId": "r-1"})
    engine.stub("payment_processing_task", {"paymentId": "p-1", "amount": 120})
    refunds: list[object] = []
    engine.stub("payment_refund_task", refunds.append)

    paid = engine.start(document, ORDER | {"orderId": "o-1"}).until(waiting_for="payment.received")
    late = engine.start(document, ORDER | {"orderId": "o-2"}).until(waiting_for="payment.received")
    gone = engine.start(document, ORDER).until(waiting_for="payment.received")
    began = engine.now
    engine.skip(hours=2)
    engine.publish("payment.received", PAID | {"orderId": "o-1"})
    assert paid.finished().state["variables"] == {"paymentId": "p-9", "paymentAmount": 120}
    engine.skip(hours=2)
    engine.publish("order.cancelled", ORDER)
    assert gone.finished().status == "CANCELLED"
    assert gone.undone == ["ship_order", "process_payment", "reserve_inventory"]
    assert refunds == [
        {"paymentId": "p-1", "amount": 120, "reason": "Order was cancelled by customer"}
    ]
    late.finished()
    assert engine.now - began == timedelta(days=3)
    assert late.path[-1] == "handle_payment_timeout"
    assert (paid.undone, late.undone) == ([], [])
