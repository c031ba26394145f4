"""What undoes a task: declared beside it, known where it is, given what the task gave."""

# ruff: noqa: ANN401 - what a task gave does not matter here
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from tenuto import Tenuto
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Object
from tenuto.tasks import Context, Facts, Registry, Retry, TaskFunction
from tenuto.tasks.undo import Undo, UndoFacts
from tests.tasks.process_tasks import registry as processes
from tests.tasks.stage import stage

OUTPUT: Object = {"paymentId": "p-7", "amount": 9, "receipt": "long"}
CANCELLATION: Object = {"reason": "changed my mind", "requestedBy": "ada", "source": "API"}
DEFAULT: Object = {
    "originalOutput": OUTPUT,
    "workflowInput": {"orderId": 7},
    "workflowState": {"steps": {"paid": {"status": "COMPLETED"}}},
    "cancellation": CANCELLATION,
}


def shop() -> tuple[Registry, TaskFunction[..., Any]]:
    registry = Registry()

    @registry.task
    def charge(order: Any) -> Any:
        return {"paymentId": order["id"]}

    return registry, charge


def undoing(everything: Object = DEFAULT, *, has_input: bool = False) -> Facts:
    """The facts of an attempt that undoes step `paid`."""
    return Facts(
        undo=UndoFacts(
            step_id="paid",
            has_input=has_input,
            output=everything.get("originalOutput"),
            everything=lambda: everything,
        )
    )


def told(ctx: Context, given: Any) -> list[Any]:
    """What a function sees that undoes something."""
    undo = ctx.undo
    assert undo is not None
    return [
        given,
        undo.step_id,
        undo.iteration,
        undo.original_output,
        undo.workflow_input,
        undo.workflow_state,
        undo.cancellation,
        undo.reason,
    ]


TOLD: list[JSON] = [
    OUTPUT,
    "paid",
    "",
    OUTPUT,
    {"orderId": 7},
    {"steps": {"paid": {"status": "COMPLETED"}}},
    CANCELLATION,
    "changed my mind",
]


def test_what_undoes_a_task_is_a_task_beside_it() -> None:
    registry, charge = shop()

    @charge.undo
    def refund(ctx: Context, paid: Any) -> str:
        return f"refunded {paid['paymentId']}"

    assert refund.name == "charge.undo"
    assert (refund.undoes, charge.undone_by) == ("charge", refund)
    assert registry.get("charge.undo") is refund
    assert list(registry) == ["charge", "charge.undo"]
    assert refund(Context(), {"paymentId": "p"}) == "refunded p"


def test_it_is_known_wherever_its_task_is() -> None:
    registry, charge = shop()
    before, after = Registry(), Registry(behind=registry)
    before.task(charge)

    @charge.undo
    def refund(paid: Any) -> None: ...

    later = Tenuto()
    later.task(charge)
    for each in (registry, before, after, later.tasks):
        assert each.get("charge.undo") is refund
    assert "charge.undo" not in Registry()


def test_an_app_has_its_own() -> None:
    app, other = Tenuto(), Tenuto()

    @app.task
    def charge_here_alone(order: Any) -> Any: ...

    @charge_here_alone.undo
    def refund(paid: Any) -> None: ...

    assert app.tasks.get("charge_here_alone.undo") is refund
    assert other.tasks.get("charge_here_alone.undo") is None


def test_its_options_are_those_of_a_task() -> None:
    registry, charge = shop()

    @charge.undo(retry=Retry(attempts=9), timeout="PT5S", heartbeat_timeout="PT1S")
    async def refund(paid: Any) -> None: ...

    policy = registry.policies()["charge.undo"]
    assert policy.retry is not None
    assert policy.retry.max_attempts == 9
    assert policy.timeout == timedelta(seconds=5)
    assert policy.heartbeat_timeout == timedelta(seconds=1)
    assert refund.is_async


def test_one_function_may_undo_several_tasks_and_be_one() -> None:
    registry, charge = shop()

    @registry.task
    def hold(order: Any) -> Any: ...

    @charge.undo
    @hold.undo(timeout="PT5S")
    @registry.task(retry=Retry(attempts=2))
    def release(given: Any) -> str:
        return str(given)

    assert list(registry) == ["charge", "charge.undo", "hold", "hold.undo", "release"]
    found = [registry.get(name) for name in ("charge.undo", "hold.undo", "release")]
    assert [task.fn("x") for task in found if task is not None] == ["x", "x", "x"]
    policies = [registry.policies()[name] for name in ("charge.undo", "hold.undo", "release")]
    assert [each.retry and each.retry.max_attempts for each in policies] == [2, 2, 2]
    assert [each.timeout for each in policies] == [timedelta(seconds=5)] * 2 + [None]


def test_the_same_function_loaded_again_takes_the_place_of_the_old_one() -> None:
    registry, charge = shop()

    def load() -> TaskFunction[..., Any]:
        @charge.undo
        def refund(paid: Any) -> None: ...

        return refund

    load()
    again = load()
    assert charge.undone_by is again
    assert registry.get("charge.undo") is again


def _starred(*paid: Any) -> None: ...


def _generator(paid: Any) -> Any:
    yield paid


@pytest.mark.parametrize("fn", [_starred, _generator, 7, dict])
def test_only_a_function_that_takes_one_output_undoes_something(fn: Any) -> None:
    registry, charge = shop()
    with pytest.raises(TenutoError) as refused:
        charge.undo(fn)
    assert refused.value.code == "TEN-1802"
    assert charge.undone_by is None
    assert list(registry) == ["charge"]


def test_a_task_is_undone_by_one_function_alone() -> None:
    registry, charge = shop()
    refund = charge.undo(lambda paid: None)
    with pytest.raises(TenutoError, match="is undone by") as refused:
        charge.undo(_second)
    assert refused.value.code == "TEN-1802"
    assert registry.get("charge.undo") is charge.undone_by is refund


def _second(paid: Any) -> None: ...


def test_what_undoes_a_task_is_not_undone_itself() -> None:
    refund = shop()[1].undo(_second)
    with pytest.raises(TenutoError, match="not undone itself") as refused:
        refund.undo(_second)
    assert refused.value.code == "TEN-1802"


def test_its_name_is_not_that_of_another_task() -> None:
    registry, charge = shop()
    registry.task(name="charge.undo")(_second)
    with pytest.raises(TenutoError) as refused:
        charge.undo(lambda paid: None)
    assert refused.value.code == "TEN-1801"
    assert charge.undone_by is None


def test_an_option_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(TenutoError, match="timeout"):
        shop()[1].undo(timeout="PT0S")(_second)


@dataclass
class Payment:
    paymentId: str  # noqa: N815 - as JSON has it
    amount: int


def _whole(paid: Any) -> Any:
    return paid["paymentId"]


def _converted(paid: Payment) -> JSON:
    return paid.paymentId


def _parts(ctx: Context, amount: int, paymentId: str) -> JSON:  # noqa: N803 - as JSON has it
    assert ctx.undo is not None
    return paymentId


def _default(paymentId: str, tip: int = 3) -> JSON:  # noqa: N803 - as JSON has it
    assert tip == 3
    return paymentId


def _any(**parts: Any) -> Any:
    assert parts == OUTPUT
    return parts["paymentId"]


def _nothing() -> JSON:
    return "p-7"


async def _later(ctx: Context, paid: Any) -> Any:
    assert ctx.undo is not None
    return paid["paymentId"]


@pytest.mark.asyncio
@pytest.mark.parametrize("fn", [_whole, _converted, _parts, _default, _any, _nothing, _later])
async def test_it_gets_what_the_task_gave(fn: Callable[..., Any]) -> None:
    """A Python `undo` gets the original output; the rest is in `ctx.undo`."""
    registry, charge = shop()
    charge.undo(fn)
    async with stage(registry) as on:
        on.start("charge.undo", DEFAULT, facts=undoing())
        assert await on.output() == "p-7"


@pytest.mark.asyncio
async def test_what_it_names_has_to_be_there() -> None:
    registry, charge = shop()

    @charge.undo
    def refund(paymentId: str, currency: str) -> None: ...  # noqa: N803 - as JSON has it

    async with stage(registry) as on:
        on.start("charge.undo", DEFAULT, facts=undoing())
        failure = await on.failure()
    assert (failure.code, failure.retryable) == ("INVALID_INPUT", False)
    assert '"currency" is a required property' in failure.message
    assert "it gets the output of the task" in failure.message


async def _told_later(ctx: Context, paid: Any) -> list[Any]:
    return told(ctx, paid)


@pytest.mark.asyncio
@pytest.mark.parametrize("fn", [told, _told_later])
async def test_the_context_has_the_rest(fn: Callable[..., Any]) -> None:
    """A Python `undo` gets the original output; the rest is in `ctx.undo`."""
    registry, charge = shop()
    charge.undo(fn)
    async with stage(registry) as on:
        on.start("charge.undo", DEFAULT, facts=undoing())
        assert await on.output() == TOLD
        failed: Object = {**DEFAULT, "cancellation": None}
        on.start("charge.undo", failed, facts=undoing(failed), iteration="2/0")
        of_iteration = [*TOLD[:2], "2/0", *TOLD[3:6], None, None]
        assert await on.output(2) == of_iteration


@pytest.mark.asyncio
async def test_with_an_input_of_its_own_it_gets_that() -> None:
    registry, charge = shop()
    charge.undo(told)
    async with stage(registry) as on:
        on.start("charge.undo", {"id": 1}, facts=undoing(has_input=True))
        assert await on.output() == [{"id": 1}, *TOLD[1:]]


@pytest.mark.asyncio
async def test_another_task_gets_all_of_the_input_when_it_undoes_a_step() -> None:
    registry = Registry()
    registry.task(name="told")(told)
    async with stage(registry) as on:
        on.start("told", DEFAULT, facts=undoing())
        assert await on.output() == [DEFAULT, *TOLD[1:]]


@pytest.mark.asyncio
async def test_as_a_step_of_its_own_it_is_a_task_like_any_other() -> None:
    registry, charge = shop()

    @charge.undo
    def refund(ctx: Context, paid: Any) -> list[Any]:
        return [paid, ctx.undo]

    async with stage(registry) as on:
        on.start("charge.undo", DEFAULT)
        assert await on.output() == [DEFAULT, None]


@pytest.mark.asyncio
async def test_what_it_does_to_what_it_got_changes_nothing_else() -> None:
    registry, charge = shop()

    @charge.undo
    def refund(ctx: Context, paid: Any) -> None:
        assert ctx.undo is not None
        assert isinstance(ctx.undo.original_output, dict)
        paid["paymentId"] = ctx.undo.original_output["amount"] = None
        ctx.undo.workflow_state["steps"] = None

    everything: Object = {**DEFAULT, "originalOutput": dict(OUTPUT)}
    async with stage(registry) as on:
        on.start("charge.undo", everything, facts=undoing(everything))
        assert await on.output() is None
    assert everything == DEFAULT


@pytest.mark.asyncio
@pytest.mark.slow
async def test_it_runs_in_a_child_process_too() -> None:
    async with stage(processes, max_processes=1) as on:
        on.start("double.undo", {"double": 8}, facts=undoing(has_input=True))
        assert await on.output() == [{"double": 8}, *TOLD[1:]]
        on.start("double.undo", DEFAULT, facts=undoing(), node="other")
        assert await on.output(2) == TOLD
        on.start("double_later.undo", DEFAULT, facts=undoing())
        assert await on.output(3) == ["p-7", 9]
        on.start("take_parts", {"amount": 1, "paymentId": "p", "more": 1})
        assert (await on.failure(4)).code == "INVALID_INPUT"


def test_a_function_is_tried_with_a_context_that_a_test_makes() -> None:
    undo = Undo(step_id="paid", original_output=OUTPUT, cancellation=CANCELLATION)
    assert told(Context(undo=undo), 1) == [1, "paid", "", OUTPUT, None, {}, CANCELLATION, TOLD[-1]]
    assert Context().undo is None
