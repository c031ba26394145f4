"""Workflows that are written in Python are tested as those in JSON are."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto import one_of, otherwise, sleep, task, wait_event, when, workflow
from tenuto.testing import Engine, Instance, InvariantBroken, crash_test


@task(name="py.reserve")
def reserve(order: dict[str, Any]) -> dict[str, Any]:
    return {"held": order["orderId"]}


@task(name="py.score")
async def score(order: dict[str, Any]) -> int:
    return 3


@task(name="py.charge")
async def charge(order: dict[str, Any]) -> dict[str, Any]:
    return {"paymentId": "P1"}


@task(name="py.escalate")
def escalate() -> str:
    return "escalated"


@task(name="py.approve")
def approve(paid: dict[str, Any]) -> str:
    return "approved"


@task(name="py.record")
def record(how: object) -> None:
    """Keep what was decided."""


@workflow("py-order")
def order_flow(order: dict[str, Any]) -> dict[str, Any]:
    held = reserve(order)
    risk = score(order)
    paid = charge.after(held, risk)(order)
    with when(order["amount"] > 1000):
        asked = wait_event("approval.given", timeout="P3D", on_timeout=escalate)
    with otherwise():
        auto = approve(paid)
    record(one_of(asked, auto))
    return paid


@workflow
def patient() -> str:
    sleep("P30D")
    return escalate()


SMALL = {"orderId": 7, "amount": 9}
LARGE = {"orderId": 7, "amount": 2000}


def test_a_workflow_function_is_started_as_it_is(engine: Engine) -> None:
    engine.stub(charge, {"paymentId": "stubbed"})
    run = engine.start(order_flow, SMALL).finished()
    assert run.output == {"paymentId": "stubbed"}
    assert set(run.path) >= {"held", "risk", "paid", "auto"}


def test_three_days_without_approval(engine: Engine) -> None:
    run = engine.start(order_flow, LARGE).until(waiting_for="approval.given")
    engine.skip(days=3)
    assert len(engine.calls(escalate)) == 1
    assert run.finished().status == "COMPLETED"


def test_a_month_of_sleep(engine: Engine) -> None:
    assert engine.start(patient).finished().output == "escalated"


def test_parallel_steps_arrive_in_every_order(engine: Engine) -> None:
    orders = [run.arrivals[:2] for run in engine.orders(order_flow, SMALL)]
    assert sorted(orders) == [["held", "risk"], ["risk", "held"]]


def test_a_crash_test_takes_a_workflow_function(tmp_path: Any, monkeypatch: Any) -> None:  # noqa: ANN401
    monkeypatch.chdir(tmp_path)
    crash_test(order_flow, input=LARGE, events=["approval.given"], runs=10)

    def charged_once(run: Instance) -> None:
        assert len(run.calls(charge)) == 1

    with pytest.raises(InvariantBroken) as caught:
        crash_test(order_flow, charged_once, input=SMALL, kinds=["crash-before"])
    assert len(caught.value.mishaps) == 1
