"""The test kit and built-in tasks: stubs by step, real code, crashes."""

from __future__ import annotations

from typing import Any

from tenuto import TaskError, http, javascript, query, workflow
from tenuto.testing import Engine, Instance, crash_test


@workflow("desk")
def desk(order: dict[str, Any]) -> object:
    stock = query("stock", sku=order["sku"])  # noqa: F841 - its name is its id
    price = javascript("return {total: ctx.stock[0].price * input.n}", input={"n": order["n"]})
    sent = http("https://ship.example/parcels", method="POST", body=price)
    return {"price": price, "sent": sent}


ORDER = {"sku": "a", "n": 3}


def stubbed() -> Engine:
    engine = Engine()
    engine.stub_step("stock", [{"price": 7}])
    engine.stub_step("sent", TaskError("HTTP_503", "away"), {"status": 201})
    return engine


def test_steps_are_stubbed_by_their_ids_and_code_runs_for_real() -> None:
    with stubbed() as engine:
        run = engine.start(desk, ORDER).finished()
        assert run.output == {"price": {"total": 21}, "sent": {"status": 201}}
        assert [call.input for call in engine.calls("@dataQuery")] == [{"sku": "a"}]
        assert [call.attempt for call in engine.calls("@http")] == [1, 2]
        assert engine.calls("@http")[0].input == {
            "method": "POST",
            "url": "https://ship.example/parcels",
            "body": {"total": 21},
        }


def test_code_can_be_stubbed_too_and_a_function_gets_its_input() -> None:
    with stubbed() as engine:
        engine.stub_step("price", lambda given: given["n"] * 2, takes="PT10S")
        run = engine.start(desk, ORDER).finished()
        assert run.output == {"price": 6, "sent": {"status": 201}}


def test_a_step_that_calls_others_fails_without_a_stub() -> None:
    with Engine() as engine:
        run = engine.start(desk, ORDER).until(status="FAILED")
        assert run.error is not None
        assert run.error["code"] == "NOT_STUBBED"
        assert "engine.stub_step('stock', …)" in str(run.error["message"])


def test_a_crash_in_one_is_recovered_under_the_same_key() -> None:
    with stubbed() as engine:
        engine.stub_step("sent", {"status": 201})
        engine.crash_once(at="@http", when="after")
        engine.start(desk, ORDER)
        engine.recover()
        [run] = engine.instances
        assert run.finished().status == "COMPLETED"
        first, second = engine.calls("@http")
        assert first.key == second.key


def test_every_write_may_be_the_last_of_its_process() -> None:
    def shipped(run: Instance) -> None:
        if run.status == "COMPLETED":
            assert run.output == {"price": {"total": 21}, "sent": {"status": 201}}
        assert len({call.key for call in run.calls("@http")}) <= 1

    assert crash_test(desk, shipped, input=ORDER, engine=stubbed(), runs=5).runs > 0
