"""What a process measures, as Prometheus reads it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from tenuto import Context, Settings, Tenuto
from tenuto.engine.meters import Histogram
from tenuto.metrics.metrics import LOOK_EVERY, Metrics
from tenuto.metrics.names import MOST_NAMES, MOST_TENANTS, Named, Names
from tenuto.model.durations import parse_moment
from tenuto.tasks.registry import Registry
from tests.api.conftest import DOUBLE, REFUSE, WAIT, Caller, Serve, served

pytestmark = pytest.mark.asyncio

SEED = {
    "workflow_instances_started": "counter",
    "workflow_instances_completed": "counter",
    "workflow_instances_failed": "counter",
    "workflow_step_execution_time_seconds": "histogram",
    "workflow_instances_active": "gauge",
    "task_execution_requests": "counter",
    "event_subscriptions_active": "gauge",
}


async def read(caller: Caller) -> dict[str, Any]:
    reply = await caller.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {each.name: each for each in families(reply.text)}


def value(family: Any, **labels: str) -> float:  # noqa: ANN401
    """The value of a sample, or the count of a histogram."""
    found = [
        each.value
        for each in family.samples
        if not each.name.endswith(("_bucket", "_sum", "_created"))
        and labels.items() <= each.labels.items()
    ]
    return float(sum(found))


async def test_metrics_have_the_names_that_were_agreed_on(serve: Serve) -> None:
    async with serve() as caller:
        for definition in (DOUBLE, WAIT, REFUSE):
            await caller.post("/workflows", definition)
        await caller.start("double", {"number": 2}, "?wait=10")
        await caller.start("refuse", None, "?wait=10")
        await caller.start("wait", {"orderId": 7})
        found = await read(caller)
    assert {name: found[name].type for name in SEED} == SEED
    assert value(found["workflow_instances_started"]) == 3
    assert value(found["workflow_instances_started"], workflow="wait") == 1
    assert value(found["workflow_instances_completed"], workflow="double") == 1
    assert value(found["workflow_instances_failed"], workflow="refuse") == 1
    assert value(found["workflow_instances_active"]) == 1
    assert value(found["event_subscriptions_active"]) == 1
    assert value(found["task_execution_requests"]) == 2
    times = found["workflow_step_execution_time_seconds"]
    assert value(times, workflow="double", step="twice") == 1
    assert value(found["workflow_step_failures"], workflow="refuse", step="reserve") == 1
    assert value(found["tenuto_http_requests"], operation="start_workflow") == 3
    assert value(found["tenuto_commit_seconds"]) > 0
    assert value(found["tenuto_queue_depth"], queue="timers_due") == 0
    assert value(found["tenuto_live_connections"], kind="request") == 1


async def test_the_sandbox_is_measured(serve: Serve) -> None:
    async with serve() as call:
        step = {"stepId": "a", "type": "JAVASCRIPT", "code": "return 1"}
        bad = {"stepId": "a", "type": "JAVASCRIPT", "code": "throw 1", "retry": {"maxAttempts": 1}}
        for id, each in (("good", step), ("bad", bad)):
            assert (await call.post("/workflows", {"id": id, "steps": [each]})).status == 201
            await call.start(id, None, "?wait=10")
        found = await read(call)
        calls = found["tenuto_javascript_calls"]
        assert value(calls, outcome="success") == 1
        assert value(calls, outcome="JAVASCRIPT_ERROR") == 1
        assert value(found["tenuto_javascript_processes_killed"]) == 0
        assert value(found["tenuto_javascript_calls_waiting"]) == 0
        assert value(found["tenuto_javascript_protections"], name="limits") == 1


async def test_a_path_that_nobody_knows_becomes_no_name(serve: Serve) -> None:
    async with serve() as caller:
        await caller.get("/nothing-at-all")
        text = (await caller.get("/metrics")).text
    assert "nothing-at-all" not in text
    assert 'operation="none",status="404"' in text


async def test_the_store_is_read_once_however_often_it_is_asked(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as caller:
        store = caller.app.engine.store
        looks = []
        look = store.upkeep.depths

        async def counted(now: Any) -> Any:  # noqa: ANN401
            looks.append(now)
            return await look(now)

        monkeypatch.setattr(store.upkeep, "depths", counted)
        for _ in range(5):
            await read(caller)
        assert len(looks) == 1
        caller.pipeline.service.metrics._looked_at -= LOOK_EVERY
        await read(caller)
        assert len(looks) == 2


async def test_names_of_another_tenant_are_not_shown() -> None:
    async with Tenuto() as app:
        metrics = Metrics(app.engine)
        metrics.steps.instances[Named("acme", "secret-plan")].started += 2
        metrics.steps.seconds[Named("acme", "secret-plan", "heist")].add(1)
        metrics.steps.instances[Named("default", "open")].started += 1
        text = (await metrics.page("default")).decode()
        assert "acme" not in text
        assert "secret-plan" not in text
        assert "heist" not in text
        found = {each.name: each for each in families(text)}
        assert value(found["workflow_instances_started"], workflow="other") == 2
        assert value(found["workflow_instances_started"], workflow="open") == 1
        own = {each.name: each for each in families((await metrics.page("acme")).decode())}
        times = own["workflow_step_execution_time_seconds"]
        assert value(times, workflow="secret-plan", step="heist") == 1


async def test_names_are_bounded_and_nothing_is_left_uncounted() -> None:
    names = Names(Histogram)
    for number in range(MOST_NAMES + 50):
        names[Named("default", f"w{number}")].add(1)
    seen = names.seen_by("default")
    assert len(seen) == MOST_NAMES + 1
    assert sum(sum(each.counts) for _, _, each in seen) == MOST_NAMES + 50


async def test_the_names_of_one_tenant_take_nothing_from_another() -> None:
    names = Names(Histogram)
    for number in range(MOST_NAMES + 50):
        names[Named("noisy", f"w{number}")].add(1)
    names[Named("quiet", "orders")].add(1)
    assert "orders" in {workflow for workflow, _, _ in names.seen_by("quiet")}


async def test_tenants_with_names_are_bounded() -> None:
    names = Names(Histogram)
    for number in range(MOST_TENANTS + 50):
        names[Named(f"t{number}", "w")].add(1)
    seen = names.seen_by("t0")
    assert len(seen) == MOST_TENANTS + 1
    assert sum(sum(each.counts) for _, _, each in seen) == MOST_TENANTS + 50


async def test_a_running_attempt_has_an_estimate_where_enough_earlier_ones_give_one() -> None:
    """Estimates are in milliseconds, of earlier ones of the same workflow and step in the process
    that answers; `message` says `usually` and the median."""
    registry = Registry()
    running, may_end = asyncio.Event(), asyncio.Event()

    @registry.task
    async def work(ctx: Context) -> None:
        running.set()
        await may_end.wait()

    step = {"stepId": "a", "type": "TASK", "taskId": "work"}
    async with served(app=Tenuto(tasks=registry)) as call:
        assert (await call.post("/workflows", {"id": "w", "steps": [step]})).status == 201
        cause: dict[str, Any] = {}
        for number in range(21):
            running.clear()
            may_end.clear()
            id = (await call.start("w", None))["instanceId"]
            await running.wait()
            [cause] = (await call.get(f"/instances/{id}/explain")).json["causes"]
            assert ("estimate" in cause) is (number == 20)
            may_end.set()
            await call.app.engine.final_state(id)
        assert (cause["estimate"]["from"], cause["estimate"]["scope"]) == (20, "process")
        assert 0 <= cause["estimate"]["p50"] <= cause["estimate"]["p90"]
        assert cause["message"].startswith("attempt 1 runs; usually ")


async def test_limits_and_times_of_instances_are_measured() -> None:
    """Metrics: `workflow_execution_time_seconds` (by workflow), queue depth and wait by limit, step
    queue time apart from step run time."""
    async with served() as call:
        await call("PUT", "/workflows/double", DOUBLE)
        await call("PUT", "/workflows/wait", WAIT)
        await call("PUT", "/concurrency", {"workflowTypeLimits": {"wait": 0, "double": 9}})
        await call.start("double", {"number": 4}, "?wait=20")
        await call.start("wait", {"id": 1})
        await call.app.engine.admissions.run_once()
        found = await read(call)
        assert value(found["workflow_execution_time_seconds"], workflow="double") == 1
        assert value(found["tenuto_limit_queue_depth"], kind="type") == 1
        assert value(found["tenuto_limit_max"], limit="type:double") == 9
        assert "tenuto_limit_wait_seconds" in found
        for name in ("workflow_step_queue_time_seconds", "workflow_step_execution_time_seconds"):
            assert value(found[name], workflow="double") == 1


async def test_the_time_of_a_step_leaves_out_what_it_was_queued() -> None:
    registry = Registry()
    running, may_end = asyncio.Event(), asyncio.Event()

    @registry.task
    async def work(ctx: Context) -> None:
        running.set()
        await may_end.wait()

    step = {"stepId": "a", "type": "TASK", "taskId": "work"}
    async with served(app=Tenuto(tasks=registry, settings=Settings(attempts=1))) as call:
        assert (await call.post("/workflows", {"id": "w", "steps": [step]})).status == 201
        first = (await call.start("w", None))["instanceId"]
        await running.wait()
        second = (await call.start("w", None))["instanceId"]
        queued = call.app.engine.clock.now()
        for _ in range(20):
            await call.get("/health")
        begun = call.app.engine.clock.now()
        may_end.set()
        steps = []
        for id in (first, second):
            await call.app.engine.final_state(id)
            steps.append((await call.get(f"/instances/{id}")).json["state"]["steps"]["a"])
        found = await read(call)
    held = (begun - queued) / timedelta(milliseconds=1)
    assert held > 2
    ran, waited = steps
    assert ran["executionTime"] >= held - 2
    assert waited["queueTime"] >= held - 2
    after = (parse_moment(waited["completedAt"]) - begun) / timedelta(milliseconds=1)
    assert waited["executionTime"] <= after + 2
    for name, shown in (("queue", "queueTime"), ("execution", "executionTime")):
        family = found[f"workflow_step_{name}_time_seconds"]
        [total] = [each.value for each in family.samples if each.name.endswith("_sum")]
        assert abs(total * 1_000 - sum(each[shown] for each in steps)) <= 4


OWN_LIMITS: dict[str, Any] = {
    "key": {"options": {"concurrency": {"limit": 1, "holdWhileWaiting": True}}},
    "rate": {"options": {"rate": {"limit": 1, "per": "P1D"}}},
    "debounce": {"options": {"debounce": {"period": "P1D", "key": "{{ctx.input.id}}"}}},
}


@pytest.mark.parametrize("kind", OWN_LIMITS)
async def test_what_waits_for_a_limit_of_its_definition_alone_is_measured(kind: str) -> None:
    async with served() as call:
        await call("PUT", "/workflows/wait", {**WAIT, **OWN_LIMITS[kind]})
        for id in (1, 2):
            await call.start("wait", {"id": id})
        await call.app.engine.admissions.run_once()
        found = await read(call)
        waiting = 2 if kind == "debounce" else 1
        assert value(found["tenuto_limit_queue_depth"], kind=kind) == waiting
        assert value(found["tenuto_limit_queue_depth"]) == waiting


async def test_the_depth_of_a_queue_is_gone_with_the_last_limit() -> None:
    async with Tenuto() as app:
        metrics = Metrics(app.engine)
        await app.deploy(WAIT)
        for most, waiting in ((0, 1), (None, 0)):
            document: dict[str, Any] = {} if most is None else {"globalMaxConcurrent": most}
            await app.limits.set(document)
            if most == 0:
                await app.start("wait", {"id": 1})
            await app.engine.admissions.run_once()
            metrics._looked_at -= LOOK_EVERY
            page = (await metrics.page("default")).decode()
            found = {each.name: each for each in families(page)}
            assert value(found["tenuto_limit_queue_depth"]) == waiting
