"""Workflow functions run like any other definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from tenuto import (
    InstanceRef,
    InvalidDefinition,
    Retry,
    TaskError,
    Tenuto,
    WorkflowFunction,
    child,
    one_of,
    otherwise,
    sleep,
    task,
    terminate,
    wait_event,
    when,
    workflow,
)
from tests.cli.waiting import until, waits_for_event
from tests.kit.waits import every_wait_has_looked_back
from tests.python_form import sample
from tests.python_form.shop import Order, auto_approve, escalate, notify, pay, reserve, send, tidy

SMALL: Any = {"orderId": 7, "amount": 9, "items": ["a", "b"]}
LARGE: Any = {"orderId": 7, "amount": 2000, "items": []}


@workflow("python_form.approval")
def approval(order: Order) -> object:
    paid = pay(order)
    with when(paid["amount"] > 1000):
        asked = wait_event(
            "approval.given",
            where="event.payload.paymentId === ctx.paid.paymentId",
            timeout="P3D",
            on_timeout=escalate,
        )
    with otherwise():
        auto = auto_approve(paid)
    return send(order["orderId"], one_of(asked, auto))


@workflow("python_form.impatient")
def impatient(order: Order) -> object:
    asked = wait_event("approval.given", timeout="PT0.01S", on_timeout=escalate)
    return notify(asked)


async def outcome(flow: WorkflowFunction[..., Any], input: object = SMALL) -> object:
    async with Tenuto() as app:
        return await (await app.start(flow, cast("Any", input))).result(timeout=20)


async def statuses(instance: InstanceRef) -> dict[str, str]:
    steps: Any = (await instance.state())["steps"]
    return {name: step["status"] for name, step in steps.items()}


@pytest.mark.asyncio
async def test_the_branch_that_ran_gives_its_value() -> None:
    assert await outcome(approval) == {"boxes": 7, "approval": {"approved": "p-7"}}


@pytest.mark.asyncio
async def test_an_event_gives_the_value_of_its_wait() -> None:
    async with Tenuto() as app:
        instance = await app.start(approval, LARGE)
        await until(app, instance, waits_for_event)
        await every_wait_has_looked_back(app)
        assert (await app.publish("approval.given", {"paymentId": "p-7"})).resumed == 1
        output: Any = await instance.result(timeout=20)
        assert output["approval"]["payload"] == {"paymentId": "p-7"}
        reached = await statuses(instance)
    assert reached["auto"] == "SKIPPED"
    assert reached["escalate"] == "SKIPPED"


@pytest.mark.asyncio
async def test_a_wait_that_timed_out_gives_what_ran_instead() -> None:
    """The value of a wait with `on_timeout` is that of whichever ran."""
    assert await outcome(impatient) == {"escalated": 7}


@pytest.mark.asyncio
async def test_a_step_whose_input_is_dead_is_skipped() -> None:
    @workflow
    def flow(order: Order) -> None:
        with when(order["amount"] > 1000):
            asked = escalate(order)
        notify(asked)

    async with Tenuto() as app:
        instance = await app.start(flow, SMALL)
        await instance.result(timeout=20)
        assert await statuses(instance) == {
            "when": "COMPLETED",
            "asked": "SKIPPED",
            "notify": "SKIPPED",
        }


@pytest.mark.asyncio
async def test_a_barrier_behind_a_decision_is_reached_by_either_side() -> None:
    @workflow
    def flow(order: Order) -> object:
        with when(order["amount"] > 1000):
            escalate(order)
        sleep("PT0S")
        return tidy()

    for order in (SMALL, LARGE):
        assert await outcome(flow, order) == "tidy"


@pytest.mark.asyncio
async def test_a_failure_goes_to_its_handler_and_what_depends_on_it_is_skipped() -> None:
    @task(retry=Retry(attempts=1))
    def decline(order: Order) -> Order:
        raise TaskError("DECLINED", "no money")

    @workflow
    def flow(order: Order) -> None:
        paid = decline.on_error(lambda error: send(order["orderId"], error["code"]))(order)
        notify(paid)

    async with Tenuto() as app:
        instance = await app.start(flow, SMALL)
        await instance.result(timeout=20)
        steps: Any = (await instance.state())["steps"]
        assert steps["send"]["output"] == {"boxes": 7, "approval": "DECLINED"}
        assert steps["notify"]["status"] == "SKIPPED"


@pytest.mark.asyncio
async def test_the_first_of_several_is_enough_for_after_any() -> None:
    @workflow
    def flow(order: Order) -> object:
        with when(order["amount"] > 1000):
            asked = escalate(order)
        held = reserve(order)
        return tidy.after_any(asked, held)()

    assert await outcome(flow) == "tidy"


@pytest.mark.asyncio
async def test_a_remainder_has_the_sign_of_its_divisor_as_in_python() -> None:
    pairs = [(7, 3), (-7, 3), (7, -3), (-7, -3), (-7.5, 2), (6, -3)]

    @workflow
    def flow(pair: list[float]) -> object:
        return [pair[0] % pair[1], pair[0] // pair[1], pair[0] % 4, 7 % pair[1]]

    for first, second in pairs:
        there = [first % second, first // second, first % 4, 7 % second]
        assert await outcome(flow, [first, second]) == there


def nobody() -> object:
    notify("nobody came")
    return {"by": "nobody"}


def only_tell() -> None:
    notify("nobody came")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("on_timeout", "value"),
    [
        (lambda: "nobody", "nobody"),
        (nobody, {"by": "nobody"}),
        (only_tell, None),
        (lambda: None, None),
    ],
)
async def test_a_wait_that_times_out_has_whatever_its_handler_gives(
    on_timeout: Callable[[], object], value: object
) -> None:
    """The value of a wait with `on_timeout` is that of whichever ran."""

    @workflow
    def flow(order: Order) -> object:
        paid = reserve(order)
        asked = wait_event("never.given", timeout="PT0.01S", on_timeout=on_timeout)
        return notify({"asked": asked, "paid": paid["reservation"]})

    assert await outcome(flow) == {"asked": value, "paid": 7}


@pytest.mark.asyncio
async def test_a_wait_that_times_out_may_end_the_instance() -> None:
    @workflow
    def flow(order: Order) -> object:
        asked = wait_event(
            "never.given", timeout="PT0.01S", on_timeout=lambda: terminate(output={"by": "nobody"})
        )
        return notify(asked)

    assert await outcome(flow) == {"by": "nobody"}


@pytest.mark.asyncio
async def test_a_wait_that_times_out_may_have_the_value_of_an_earlier_step() -> None:
    @workflow
    def flow(order: Order) -> object:
        held = reserve(order)
        asked = wait_event("never.given", timeout="PT0.01S", on_timeout=lambda: held)
        return notify(asked)

    assert await outcome(flow) == {"reservation": 7}


@pytest.mark.asyncio
async def test_terminate_ends_the_instance() -> None:
    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        terminate(output={"held": held["reservation"]})

    assert await outcome(flow) == {"held": 7}


@pytest.mark.asyncio
async def test_what_is_returned_is_the_output_of_the_instance() -> None:
    @workflow
    def several(orderId: int, amount: int = 3) -> object:  # noqa: N803 - a key of the input
        return [orderId + 1, amount, {"text": "t"}]

    assert await outcome(several, {"orderId": 7}) == [8, 3, {"text": "t"}]


@pytest.mark.asyncio
async def test_a_workflow_with_several_parameters_wants_them_all() -> None:
    @workflow
    def several(a: int, b: int) -> object:
        return notify(a + b)

    async with Tenuto() as app:
        with pytest.raises(Exception, match="b"):
            await app.start(several, {"a": 1})


@pytest.mark.asyncio
async def test_the_same_function_makes_one_version_however_often_it_is_deployed() -> None:
    async with Tenuto() as app:
        assert await app.deploy(approval) == 1
        assert await app.deploy(approval) == 1
        first = await app.start(approval, SMALL, key="order-7")
        second = await app.start(approval, SMALL, key="order-7")
        assert first.id == second.id
        by_id = await app.start("python_form.approval", SMALL)
        assert await by_id.result(timeout=20) == await first.result(timeout=20)


@pytest.mark.asyncio
async def test_a_start_runs_what_the_function_says_whatever_was_deployed_before() -> None:
    async with Tenuto() as app:
        document = approval.definition()
        await app.deploy({**document, "description": "an older one"})
        instance = await app.start(approval, SMALL)
        assert (await instance.details())["definitionVersion"] == 2


@pytest.mark.asyncio
async def test_children_are_deployed_with_their_parent() -> None:
    @workflow("python_form.parcel")
    def parcel(order: Order) -> object:
        return reserve(order)

    @workflow("python_form.parent")
    def parent(order: Order) -> object:
        return child(parcel, order)

    async with Tenuto() as app:
        await app.deploy(parent)
        assert await app.deploy(parcel) == 1
        output = await (await app.start("python_form.parcel", SMALL)).result(timeout=20)
        assert output == {"reservation": 7}


@pytest.mark.asyncio
async def test_a_faulty_function_is_refused_when_it_is_deployed() -> None:
    @workflow
    def flow(order: Order) -> None:
        wait_event("a..b")

    async with Tenuto() as app:
        with pytest.raises(InvalidDefinition, match=r"test_running\.py:\d+"):
            await app.deploy(flow)


@pytest.mark.asyncio
async def test_the_sample_of_the_specification_validates_and_runs() -> None:
    checked = sample.order_flow.check()
    assert checked.problems == ()
    assert checked.definition is not None
    async with Tenuto() as app:
        instance = await app.start(sample.order_flow, SMALL, key="order-7")
        assert await instance.result(timeout=60) == {"paymentId": "p9"}
    assert sample.SHIPPED == [(["box of a", "box of b"], {"auto": "p9"})]
