"""A stub plays a task's part: it gives, raises, calls, one outcome after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tenuto import Context, TaskError, Tenuto, TenutoError, task
from tenuto.model.json import JSON
from tenuto.testing import Engine
from tests.testing_kit.shop import ORDER, a_task, charge, in_a_row, reserve

CHARGE = in_a_row(a_task("charge", "shop.charge"))


def test_without_a_stub_the_task_itself_runs(engine: Engine) -> None:
    run = engine.start(CHARGE, ORDER).finished()
    assert run.output == {"paymentId": f"{run.id}:charge", "amount": 9}


@pytest.mark.parametrize("value", [None, 0, "x", [1, None], {"paymentId": "P1"}], ids=repr)
def test_a_stub_gives_a_value(engine: Engine, value: JSON) -> None:
    engine.stub(charge, value)
    assert engine.start(CHARGE, ORDER).finished().output == value


def test_a_stub_of_nothing_gives_null(engine: Engine) -> None:
    engine.stub("shop.charge")
    assert engine.start(CHARGE, ORDER).finished().output is None


@pytest.mark.parametrize("error", [ConnectionError("down"), ConnectionError])
def test_a_stub_raises_an_exception(engine: Engine, error: object) -> None:
    engine.stub(charge, error)
    run = engine.start(CHARGE, ORDER).finished()
    assert run.status == "FAILED"
    assert run.error is not None
    assert run.error["code"] == "ConnectionError"
    assert [call.outcome for call in run.calls(charge)] == ["failed"] * 3


def test_an_error_that_is_not_retryable_is_had_once(engine: Engine) -> None:
    engine.stub(charge, TaskError("NO_MONEY", retryable=False))
    assert len(engine.start(CHARGE, ORDER).finished().calls(charge)) == 1


def doubled(order: dict[str, Any]) -> int:
    return int(order["amount"]) * 2


async def doubled_later(ctx: Context, order: dict[str, Any]) -> int:
    assert ctx.step_id == "charge"
    return int(order["amount"]) * 2


@pytest.mark.parametrize("function", [doubled, doubled_later, lambda order: order["amount"] * 2])
def test_a_stub_calls_a_function_as_a_task_is_called(
    engine: Engine, function: Callable[..., Any]
) -> None:
    engine.stub(charge, function)
    assert engine.start(CHARGE, ORDER).finished().output == 18


def test_outcomes_come_one_after_the_other_and_the_last_one_stays(engine: Engine) -> None:
    engine.stub(charge, ConnectionError("down"), {"n": 1}, {"n": 2})
    outputs = [engine.start(CHARGE, ORDER).finished().output for _ in range(3)]
    assert outputs == [{"n": 1}, {"n": 2}, {"n": 2}]


def test_a_stub_for_a_task_that_does_not_exist_is_refused_with_near_names(engine: Engine) -> None:
    with pytest.raises(TenutoError) as caught:
        engine.stub("shop.chrage", {})
    assert caught.value.code == "TEN-2201"
    assert "no task is called 'shop.chrage'" in str(caught.value)
    assert "Did you mean shop.charge" in caught.value.advice


def test_a_function_that_is_no_task_is_refused(engine: Engine) -> None:
    with pytest.raises(TenutoError, match="doubled is not a task") as caught:
        engine.stub(doubled, 1)
    assert caught.value.code == "TEN-2201"


def test_a_task_that_only_workers_have_is_declared_in_the_test(engine: Engine) -> None:
    @engine.task(name="remote.resize")
    def resize(order: dict[str, Any]) -> int:
        return int(order["amount"])

    engine.stub("remote.resize", 5)
    definition = in_a_row(a_task("resize", "remote.resize"))
    assert engine.start(definition, ORDER).finished().output == 5
    assert len(engine.calls(resize)) == 1


def test_tasks_of_one_app_are_known_if_the_engine_is_given_them() -> None:
    app = Tenuto()

    @app.task(name="only.here")
    def only_here() -> int:
        return 1

    with Engine(tasks=app.tasks) as engine:
        run = engine.start(in_a_row(a_task("only", "only.here"))).finished()
        assert run.output == 1
        engine.stub(only_here, 2)
        assert engine.start("row").finished().output == 2


def test_every_call_is_written_down(engine: Engine) -> None:
    engine.stub(charge, ConnectionError, {"n": 1})
    run = engine.start(
        in_a_row(a_task("held", "shop.reserve"), a_task("charge", "shop.charge")), ORDER
    )
    run.finished()
    assert [(call.task, call.step, call.attempt) for call in engine.calls()] == [
        ("shop.reserve", "held", 1),
        ("shop.charge", "charge", 1),
        ("shop.charge", "charge", 2),
    ]
    assert {call.key for call in run.calls(charge)} == {f"{run.id}:charge"}
    assert engine.calls(reserve)[0].input == ORDER


@task(name="shop.compute", isolation="process")
def compute() -> int:
    return 41 + 1


@task(name="shop.in_thread")
async def in_thread() -> int:
    return await asyncio.to_thread(lambda: 42)


@pytest.mark.parametrize("name", ["shop.compute", "shop.in_thread"])
def test_tasks_run_in_the_tests_own_process(engine: Engine, name: str) -> None:
    assert engine.start(in_a_row(a_task("it", name))).finished().output == 42


@task(name="shop.network")
async def network() -> None:
    await asyncio.open_connection("127.0.0.1", 9)


def test_a_task_that_needs_the_network_is_told_to_be_stubbed(engine: Engine) -> None:
    run = engine.start(in_a_row(a_task("call", "shop.network", retry={"maxAttempts": 1})))
    run.finished()
    assert run.error is not None
    assert "TEN-2203" in str(run.error["message"])
