"""What a Python program may rely on."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from uuid import uuid4

import pytest

import tenuto
from tenuto import (
    Conflict,
    InvalidDefinition,
    InvalidInput,
    NotFound,
    Overloaded,
    Result,
    Settings,
    StoreUnavailable,
    TaskError,
    Tenuto,
    TenutoError,
    WorkflowCancelled,
    WorkflowFailed,
)
from tenuto.model.json import JSON, Object
from tenuto.model.policy import Limits
from tests.core.drawing import draw, end, task, wait
from tests.semantics.office import office

ONE = draw("a")


def parameters(function: object) -> list[str]:
    assert callable(function)
    return [name for name in inspect.signature(function).parameters if name != "self"]


def test_the_apps_functions_are_as_documented() -> None:
    """App, all awaitable: `app.deploy(definition) -> version`, `app.start(flow | id, input, *,
    key, correlation_id, priority, deadline, instance_id, version)`, `app.instance(id)`,
    `app.instances(status=, workflow=, …)`, `app.publish(pattern, payload, *, id,
    correlation_id)`; `instance.status(), state(), history(), result(timeout),
    cancel(reason), pause(), resume(), retry(), rerun(from_step)`.
    """
    assert parameters(Tenuto.deploy) == ["definition"]
    assert parameters(Tenuto.start)[1:] == [
        "input",
        "key",
        "correlation_id",
        "priority",
        "deadline",
        "instance_id",
        "version",
    ]
    assert parameters(Tenuto.instance) == ["id"]
    assert parameters(Tenuto.instances)[:2] == ["status", "workflow"]
    assert parameters(Tenuto.publish)[:4] == ["pattern", "payload", "id", "correlation_id"]
    for name in ("deploy", "start", "instance", "instances", "publish"):
        assert inspect.iscoroutinefunction(getattr(Tenuto, name))
    commands = ("cancel", "pause", "resume", "retry", "rerun")
    assert parameters(tenuto.InstanceRef.rerun)[0] == "from_step"
    for name in ("status", "state", "history", "result", *commands):
        assert inspect.iscoroutinefunction(getattr(tenuto.InstanceRef, name))


@pytest.mark.asyncio
async def test_a_history_item_has_its_documented_names() -> None:
    """A history item in REST: `{seq, eventType, nodeId, iteration, attempt, nodeStatus,
    outputVariable, payload, errorMessage, at}`.
    """
    async with office() as run:
        ref = await run.start(draw("a", a=task(outputVariable="v")), {"n": 1})
        run.finish("a", 5)
        await ref.result(60)
        history = await ref.history()
        assert [item["seq"] for item in history] == [1, 2, 3, 4, 5]
        assert all(
            list(item)
            == [
                "seq",
                "eventType",
                "nodeId",
                "iteration",
                "attempt",
                "nodeStatus",
                "outputVariable",
                "payload",
                "errorMessage",
                "at",
            ]
            for item in history
        )
        done = history[3]
        assert (done["nodeId"], done["nodeStatus"], done["outputVariable"]) == ("a", "success", "v")


@pytest.mark.asyncio
async def test_an_instance_in_json_has_its_documented_names() -> None:
    """An instance in JSON: seed 001's names (`id, workflowDefinitionId, status, state, input,
    version, correlationId, createdAt, updatedAt, startedAt, completedAt`) plus
    `definitionVersion, output, lastError, cancellation, compensationState, parentId?,
    rootId, rerunOf?, tenant, priority, deadline`; `version` is the number of log entries.
    """
    async with office() as run:
        ref = await run.start(ONE, {"n": 1}, correlation_id="c", priority=3)
        run.finish("a", 5)
        await ref.result(60)
        details = await ref.details()
        names = (
            "id workflowDefinitionId status state input version correlationId createdAt updatedAt "
            "startedAt completedAt definitionVersion output lastError cancellation "
            "compensationState rootId tenant priority deadline"
        )
        assert set(details) == set(names.split())
        assert details["version"] == len(await ref.history())
        again = await (await ref.rerun()).details()
        assert set(again) - set(details) == {"rerunOf"}
        assert again["rerunOf"] == ref.id
        assert (details["output"], details["priority"], details["correlationId"]) == (5, 3, "c")


@pytest.mark.asyncio
async def test_the_context_is_shown_with_what_the_system_noted() -> None:
    """`/context` is `{ctx, system}`."""
    async with office() as run:
        ref = await run.start(ONE, {"n": 1})
        assert await ref.context() == {"ctx": {"input": {"n": 1}}, "system": {}}
        run.finish("a")
        await ref.result(60)


@pytest.mark.asyncio
async def test_an_instance_id_that_is_given_is_a_uuid() -> None:
    """A given `instanceId` is a UUID."""
    async with office() as run:
        id = str(uuid4())
        ref = await run.start(ONE, instance_id=id)
        assert ref.id == id
        for bad in ("order-7", "", "../x", "1"):
            with pytest.raises(InvalidInput) as refused:
                await run.app.start("w", instance_id=bad)
            assert refused.value.code == "TEN-2008"
        with pytest.raises(Conflict):
            await run.app.start("w", {"other": 1}, instance_id=id)
        run.finish("a")
        await ref.result(60)


@pytest.mark.asyncio
async def test_what_is_shown_is_what_the_log_says() -> None:
    """The stored `state` is a snapshot that may lag the log, `state_version` says how far;
    every API answer folds the tail.
    """
    async with office() as run:
        chain = " ".join(f"n{number}>n{number + 1}" for number in range(80))
        ref = await run.start(draw(f"{chain} n80>a"))
        for number in range(81):
            run.finish(f"n{number}", number)
        await run.begun("a")
        state = await ref.state()
        assert state["currentSteps"] == ["a"]
        assert isinstance(state["steps"], dict)
        assert [state["steps"][f"n{number}"]["output"] for number in range(81)] == list(range(81))  # type: ignore[index,call-overload]
        run.finish("a")
        await ref.result(60)


@pytest.mark.asyncio
async def test_lists_show_a_status_as_soon_as_it_holds() -> None:
    """Status, waits and timers are exact; `updatedAt` and `currentSteps` of a running instance
    may lag by a second in lists, and are exact once it rests.
    """
    async with office() as run:
        ref = await run.start(draw("a>w", w=wait()))
        [row] = await run.app.instances(status="RUNNING")
        assert (row.id, row.workflow) == (ref.id, "w")
        run.finish("a")
        await run.until(ref, "w", "WAITING")
        [row] = await run.app.instances(status="WAITING_FOR_EVENT")
        assert row.current_steps == ("w",)
        assert [each.id for each in await run.app.instances(current_step="w")] == [ref.id]
        assert await run.app.instances(current_step="a") == []
        await ref.cancel()
        [row] = await run.app.instances(status=["CANCELLED", "FAILED"])
        assert await run.app.instances(status="RUNNING") == []


@pytest.mark.asyncio
async def test_result_gives_the_output_or_raises() -> None:
    """`result()` raises `WorkflowFailed(error)`, `WorkflowCancelled(cancellation)` or
    `TimeoutError`; others are `InvalidDefinition(problems)`, `InvalidInput(problems)`,
    `NotFound`, `Conflict`, `Overloaded`, `StoreUnavailable`; all are `TenutoError` with
    `.code` and `.advice`.
    """
    async with office() as run:
        good = await run.start(ONE)
        with pytest.raises(TimeoutError):
            await good.result(0.01)
        run.finish("a", 5)
        assert await good.result(60) == 5
        failing = await run.start(draw("b") | {"id": "failing"})
        run.fail("b", "OUT_OF_STOCK")
        with pytest.raises(WorkflowFailed) as failed:
            await failing.result(60)
        assert (failed.value.error.code, failed.value.error.step_id) == ("OUT_OF_STOCK", "b")
        waiting = await run.start(draw("w", w=wait()) | {"id": "waiting"})
        await waiting.cancel("enough")
        with pytest.raises(WorkflowCancelled) as cancelled:
            await waiting.result(60)
        assert cancelled.value.cancellation.reason == "enough"
        with pytest.raises(NotFound):
            await run.app.instance(str(uuid4()))
        with pytest.raises(NotFound):
            await run.app.start("nothing")
        with pytest.raises(InvalidDefinition) as invalid:
            await run.app.deploy({"id": "bad", "steps": []})
        assert invalid.value.problems
    kinds = (
        WorkflowFailed,
        WorkflowCancelled,
        InvalidDefinition,
        InvalidInput,
        NotFound,
        Conflict,
        Overloaded,
        StoreUnavailable,
    )
    for kind in kinds:
        assert issubclass(kind, TenutoError)
        assert kind.code.startswith("TEN-")
        assert isinstance(kind.advice, str)


@pytest.mark.asyncio
async def test_a_task_that_nobody_registered_is_refused_at_start() -> None:
    """Embedded and in `tenuto run`, a `taskId` that is neither registered nor declared is
    refused at start (`UNKNOWN_TASK`, nearest names); under `serve` and `dev` it waits for a
    worker, and validation warns.
    """
    async with office() as run:
        await run.app.deploy(draw("a", a=task(taskId="wrok")))
        with pytest.raises(InvalidInput) as refused:
            await run.app.start("w")
        [problem] = refused.value.problems
        assert "UNKNOWN_TASK" in problem.message
        assert "work" in problem.advice


@pytest.mark.asyncio
async def test_an_input_that_does_not_fit_its_schema_is_refused() -> None:
    """Input that fails `inputSchema`: 422, by trigger or schedule a recorded refusal."""
    schema: Object = {
        "type": "object",
        "required": ["orderId", "n"],
        "properties": {"n": {"type": "integer"}},
    }
    async with office() as run:
        await run.app.deploy(ONE | {"inputSchema": schema})
        with pytest.raises(InvalidInput) as refused:
            await run.app.start("w", {"n": "five"})
        assert len(refused.value.problems) == 2
        assert await run.app.instances() == []


@pytest.mark.asyncio
async def test_the_same_key_gives_the_same_instance() -> None:
    """`Idempotency-Key` (Python `key=`) is per tenant and lives as long as the instance; the
    same key with other content gets 409 with the first id.
    """
    async with office() as run:
        first = await run.start(ONE, {"n": 1}, key="order-7")
        assert (await run.app.start("w", {"n": 1}, key="order-7")).id == first.id
        with pytest.raises(Conflict, match=first.id) as refused:
            await run.app.start("w", {"n": 2}, key="order-7")
        assert refused.value.code == "TEN-3004"
        run.finish("a")
        await first.result(60)
        assert (await run.app.start("w", {"n": 1}, key="order-7")).id == first.id


@pytest.mark.asyncio
async def test_an_unchanged_definition_makes_no_version() -> None:
    """PUT of unchanged content makes no version; PUT takes `If-Match`; only the newest
    version's triggers start instances.
    `start` takes `version?`; `?wait` that runs out answers 202.
    """
    async with office() as run:
        one = draw("e", e=end({"is": 1}))
        two = draw("e", e=end({"is": 2}))
        versions = [await run.app.deploy(each) for each in (one, one, two, two, one)]
        assert versions == [1, 1, 2, 2, 3]
        for version, shows in ((1, 1), (2, 2), (None, 1)):
            ref = await run.app.start("w", version=version)
            assert await ref.result(60) == {"is": shows}


@pytest.mark.asyncio
async def test_what_is_too_large_is_refused_where_it_enters() -> None:
    """Too large a start or event: 413, naming the limit.
    Defaults, all settable: input, output, event 1 MB; context 16 MB; log 1,000,000 entries;
    loop 100,000 items; definition 20,000 nodes and 16 MB.
    """
    assert Limits() == Limits(
        input_bytes=1_000_000,
        output_bytes=1_000_000,
        event_bytes=1_000_000,
        context_bytes=16_000_000,
        log_entries=1_000_000,
    )
    small = Settings(limits=Limits(input_bytes=100, event_bytes=200))
    async with office(small) as run:
        await run.app.deploy(ONE)
        with pytest.raises(InvalidInput, match="100") as refused:
            await run.app.start("w", "x" * 101)
        assert refused.value.code == "TEN-2005"
        with pytest.raises(InvalidInput, match="200"):
            await run.app.publish("paid", "x" * 201)


@pytest.mark.asyncio
async def test_an_output_that_is_too_large_fails_the_attempt_for_good() -> None:
    """Too large fails the attempt, not retryable (`TOO_LARGE`)."""
    async with office(Settings(limits=Limits(output_bytes=100))) as run:
        ref = await run.start(ONE)
        run.finish("a", "x" * 101)
        with pytest.raises(WorkflowFailed) as failed:
            await ref.result(60)
        assert (failed.value.error.code, failed.value.error.attempt) == ("TOO_LARGE", 1)


@pytest.mark.asyncio
async def test_a_task_may_choose_the_handle_it_leaves_by() -> None:
    async with Tenuto() as app:

        @app.task
        async def choose(way: str) -> Result:
            return Result({"way": way}, handle=way)

        node = task(taskId="choose", handles=["left"], outputVariable="v")
        await app.deploy(
            draw("a>e a:left>f", a=node, e=end({"went": "on"}), f=end({"went": "{{ctx.v.way}}"}))
        )
        assert await (await app.start("w", "left")).result(60) == {"went": "left"}
        assert await (await app.start("w", "default")).result(60) == {"went": "on"}
        with pytest.raises(WorkflowFailed, match="UNKNOWN_HANDLE"):
            await (await app.start("w", "right")).result(60)


@pytest.mark.asyncio
async def test_a_moment_without_a_time_zone_is_refused() -> None:
    async with office() as run:
        await run.app.deploy(ONE)
        with pytest.raises(InvalidInput) as refused:
            await run.app.start("w", deadline=datetime(2030, 1, 1))  # noqa: DTZ001
        assert refused.value.code == "TEN-2007"


@pytest.mark.asyncio
async def test_a_deadline_to_the_microsecond_is_met() -> None:
    async with office() as run:
        ref = await run.start(ONE)
        await ref.cancel()
        run.finish("a")
        with pytest.raises(WorkflowCancelled):
            await ref.result(60)
        await run.app.deploy(draw("w", w=wait()) | {"id": "waiting"})
        past = datetime(2026, 1, 1, 0, 0, 0, 123_456, tzinfo=UTC)
        late = await run.app.start("waiting", deadline=past)
        with pytest.raises(WorkflowCancelled) as cancelled:
            await late.result(60)
        assert cancelled.value.cancellation.source == "TIMEOUT"


@pytest.mark.asyncio
async def test_exceptions_of_tasks_become_failures() -> None:
    """Python: `raise TaskError("OUT_OF_STOCK", "…", details=None, retryable=False)`; any other
    exception has its class name as code and is retryable.
    """
    async with Tenuto() as app:

        @app.task
        async def sell(kind: str) -> None:
            if kind == "ours":
                raise TaskError("OUT_OF_STOCK", "no tea left", details={"n": 0}, retryable=False)
            raise ZeroDivisionError("by zero")

        retry: Object = {"maxAttempts": 2, "initialDelay": 1}
        await app.deploy(draw("a", a=task(taskId="sell", retry=retry)))
        with pytest.raises(WorkflowFailed) as ours:
            await (await app.start("w", "ours")).result(60)
        error = ours.value.error
        assert (error.code, error.message, error.details, error.attempt) == (
            "OUT_OF_STOCK",
            "no tea left",
            {"n": 0},
            1,
        )
        with pytest.raises(WorkflowFailed) as other:
            await (await app.start("w", "other")).result(60)
        assert (other.value.error.code, other.value.error.attempt) == ("ZeroDivisionError", 2)


@pytest.mark.asyncio
async def test_an_attempt_that_takes_too_long_is_tried_again() -> None:
    """`TIMEOUT` is a retryable failure."""
    async with office() as run:
        retry: Object = {"maxAttempts": 2, "initialDelay": 1}
        ref = await run.start(draw("a", a=task(timeout=20, retry=retry)))
        with pytest.raises(WorkflowFailed) as failed:
            await ref.result(60)
        assert (failed.value.error.code, failed.value.error.attempt) == ("TIMEOUT", 2)


@pytest.mark.asyncio
async def test_the_apps_own_task_is_looked_up_first() -> None:
    """`@task` registers process-wide, `@app.task` in one app (looked up first); two functions
    under one name raise.
    """
    name = f"said-{uuid4()}"

    @tenuto.task(name=name)
    async def everybodys() -> str:
        return "everybody's"

    async with Tenuto() as app, Tenuto() as other:

        @app.task(name=name)
        async def ours() -> str:
            return "ours"

        for each, said in ((app, "ours"), (other, "everybody's")):
            await each.deploy(draw("a", a=task(taskId=name)))
            assert await (await each.start("w")).result(60) == said
        with pytest.raises(TenutoError) as refused:

            @app.task(name=name)
            async def second() -> str:
                return "second"

        assert refused.value.code == "TEN-1801"


@pytest.mark.asyncio
async def test_tasks_are_called_with_their_input() -> None:
    """Binding: one data parameter gets the whole input; several are bound by name from the
    input object (positional arguments in a workflow are named when traced); none ignores it.
    `ctx` is the first parameter annotated `Context`.
    """
    async with Tenuto() as app:

        @app.task
        async def whole(order: Object) -> JSON:
            return order

        @app.task
        async def named(b: int, a: int, c: int = 9) -> JSON:
            return [a, b, c]

        @app.task
        async def nothing() -> JSON:
            return "ignored"

        @app.task
        async def told(order: Object, ctx: tenuto.Context) -> JSON:
            return [order, ctx.step_id, ctx.attempt, ctx.idempotency_key.partition(":")[2]]

        expected: dict[str, JSON] = {
            "whole": {"a": 1, "b": 2},
            "named": [1, 2, 9],
            "nothing": "ignored",
            "told": [{"a": 1, "b": 2}, "x", 1, "x"],
        }
        for name, output in expected.items():
            await app.deploy(draw("x", x=task(taskId=name)))
            assert await (await app.start("w", {"a": 1, "b": 2})).result(60) == output
