"""What users' tests can find out about workflows that are undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from tenuto import TaskError, task
from tenuto.model.json import Object
from tenuto.testing import Instance, crash_test
from tests.definition.test_samples import sample


def order() -> Object:
    """The order of the first seed, with tasks of this file's own: they are there for everybody."""
    text = msgspec.json.encode(sample("compensation")).decode()
    document: Object = msgspec.json.decode(text.replace("_task", "_kit"))
    return document


def answering(output: Object) -> Callable[[Object], Object]:
    def answer(input: Object) -> Object:
        return output

    return answer


def ship(input: Object) -> None:
    raise TaskError("NO_TRUCK", "none is free", retryable=False)


task(name="inventory_reservation_kit")(answering({"reservationId": "r1"}))
task(name="payment_processing_kit")(answering({"paymentId": "p1", "amount": 12.5}))
task(name="payment_refund_kit")(answering({"refunded": True}))
task(name="inventory_release_kit")(answering({"released": True}))
task(name="shipment_cancellation_kit")(answering({}))
task(name="shipment_kit")(ship)


def test_an_order_that_fails_is_refunded_and_released_whatever_goes_wrong() -> None:
    """Crashes around each write, answers that are lost, results that come twice or late."""

    def is_undone(run: Instance) -> None:
        done = [call.task for call in run.calls() if call.outcome == "done"]
        paid = "payment_processing_kit" in done
        undone = list(dict.fromkeys(call.step for call in run.calls() if call.step in _UNDOING))
        if run.status == "FAILED" and paid:
            assert undone == ["refund_payment", "release_inventory"]
        keys = Counter((call.step, call.key) for call in run.calls() if call.step in _UNDOING)
        assert len(keys) == len(undone), "each under one key"

    tested = crash_test(order(), is_undone, input={"orderId": 7}, runs=30, expect="FAILED")
    assert tested.writes >= 6


_UNDOING = ("refund_payment", "release_inventory", "cancel_shipment")
