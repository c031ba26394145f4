"""Quotas of a tenant: what is stored is bounded, and a refusal names the quota."""

from __future__ import annotations

import tracemalloc
from asyncio import gather
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from gc import collect
from threading import current_thread
from typing import Any

import pytest

from tenuto import Overloaded, Settings, Tenuto
from tenuto.definition.schemas import schema_problems
from tenuto.engine.bounds import Bounds
from tenuto.metrics.metrics import Metrics
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import Object
from tenuto.model.quotas import QuotaExceeded, Quotas
from tenuto.model.task_definition import TaskDefinition, WorkerTask
from tenuto.model.task_logs import LogChunk, LogLine
from tenuto.workspace import task_definitions
from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.values import InstanceFilter
from tests.core.drawing import draw, end, wait
from tests.engine.situations import at_rest

pytestmark = pytest.mark.asyncio

SLEEPER = draw("w>d", w=wait("wake"), d=end()) | {"id": "sleeper"}


def app_with(**quotas: int) -> Tenuto:
    return Tenuto(settings=Settings(quotas=Quotas(**quotas)))


def numbered(id: str, output: object = None) -> Object:
    return draw("d", d=end({"is": str(output)})) | {"id": id}


def of(app: Tenuto, tenant: str) -> EngineWorkspace:
    return EngineWorkspace(app.engine, app.bulk_runner, tenant=tenant, actor="test")


async def test_a_tenant_has_so_many_definitions_and_another_its_own() -> None:
    async with app_with(definitions=2) as app:
        for id in ("one", "two"):
            await app.deploy(numbered(id))
        with pytest.raises(QuotaExceeded, match="2 of 2 definitions") as refused:
            await app.deploy(numbered("three"))
        assert (refused.value.code, refused.value.quota) == ("TEN-4294", "definitions")
        assert isinstance(refused.value, Overloaded)
        await app.deploy(numbered("two", 2))
        await of(app, "other").deploy(numbered("three"))


async def test_a_definition_has_so_many_versions_and_the_same_content_makes_none() -> None:
    async with app_with(versions=2) as app:
        for output in (1, 2, 2):
            await app.deploy(numbered("one", output))
        with pytest.raises(QuotaExceeded, match="quota `versions`"):
            await app.deploy(numbered("one", 3))
        await app.deploy(numbered("one", 2))


async def test_a_tenant_has_so_many_declared_tasks() -> None:
    async with app_with(tasks=1) as app:
        tasks = of(app, "default").task_definitions
        await tasks.put(TaskDefinition(id="one", kind="pull"))
        for declare in (tasks.put, tasks.add):
            with pytest.raises(QuotaExceeded, match="quota `tasks`"):
                await declare(TaskDefinition(id="two", kind="pull"))
        await tasks.put(TaskDefinition(id="one", kind="pull", description="changed"))


async def test_a_tenant_has_so_many_bytes_of_declared_tasks_with_their_schemas() -> None:
    async with app_with(task_bytes=5_000) as app:
        tasks = of(app, "default").task_definitions
        await tasks.put(declared("one", 4_000))
        for declare in (tasks.put, tasks.add):
            with pytest.raises(QuotaExceeded, match="quota `task_bytes`"):
                await declare(declared("two", 4_000))
        with pytest.raises(QuotaExceeded, match="quota `task_bytes`"):
            await tasks.put(declared("one", 9_000))
        page = (await Metrics(app.engine).page("default")).decode()
        assert 'tenuto_quota_used{quota="task_bytes"}' in page
        assert 'tenuto_quota_limit{quota="task_bytes"} 5000.0' in page
        await of(app, "other").task_definitions.put(declared("two", 4_000))
        await tasks.put(declared("one", 1_000))
        await tasks.put(declared("two", 2_000))
        await tasks.remove("one")
        await tasks.put(declared("three", 2_000))


async def test_bytes_of_declared_tasks_are_counted_when_many_are_declared_at_once() -> None:
    async with app_with(task_bytes=5_000) as app:
        tasks = of(app, "default").task_definitions
        made = await gather(
            *(tasks.put(declared(f"t{number}", 2_000)) for number in range(10)),
            return_exceptions=True,
        )
        assert sum(isinstance(each, QuotaExceeded) for each in made) == 8


async def test_former_versions_of_declared_tasks_are_given_up() -> None:
    async with Tenuto() as app:
        tasks = of(app, "default").task_definitions
        tracemalloc.start()
        try:
            for size in range(200_000, 200_030):
                await tasks.put(declared("one", size))
                await tasks.get("one")
                assert app.engine.policies.of("default").policy("one").check_output is not None
            collect()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert kept < 3_000_000, "not thirty versions of 200,000 bytes"


async def test_policies_in_the_code_of_workers_count_too() -> None:
    async with app_with(task_bytes=5_000) as app:
        tasks = of(app, "default").task_definitions
        schema: Object = {"description": "x" * 4_000}
        await tasks.register("w", [WorkerTask(id="one", input_schema=schema)])
        with pytest.raises(QuotaExceeded, match="quota `task_bytes`"):
            await tasks.register("w", [WorkerTask(id="two", input_schema=schema)])


async def test_schemas_of_a_declared_task_are_checked_aside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[str] = []

    def noted(document: Object, path: str) -> tuple[Problem, ...]:
        threads.append(current_thread().name)
        return schema_problems(document, path)

    monkeypatch.setattr(task_definitions, "schema_problems", noted)
    async with Tenuto() as app:
        tasks = of(app, "default").task_definitions
        await tasks.put(declared("one", 4_000))
        await tasks.add(declared("two", 4_000))
        assert threads == ["large document"] * 2
        broken: Object = {"description": "x" * 4_000, "type": 3}
        with pytest.raises(InvalidInput):
            await tasks.put(TaskDefinition(id="three", kind="pull", output_schema=broken))


def declared(id: str, size: int) -> TaskDefinition:
    """A task with an output schema of about so many bytes."""
    return TaskDefinition(id=id, kind="pull", output_schema={"description": "x" * size})


async def test_a_tenant_has_so_many_open_instances_and_what_ends_makes_room() -> None:
    async with app_with(instances=2) as app:
        await app.deploy(SLEEPER)
        first, _ = [await app.start("sleeper") for _ in range(2)]
        with pytest.raises(QuotaExceeded, match="quota `instances`"):
            await app.start("sleeper")
        quiet = of(app, "other")
        await quiet.deploy(SLEEPER)
        await quiet.start("sleeper")
        assert app.engine.usage.shown() == {("instances", "default"): (2, 2)}
        page = (await Metrics(app.engine).page("default")).decode()
        assert 'tenuto_quota_used{quota="instances"} 2.0' in page
        assert 'tenuto_quota_limit{quota="instances"} 2.0' in page
        assert (
            'tenuto_quota_used{quota="instances"}'
            not in (await Metrics(app.engine).page("other")).decode()
        )
        await first.cancel()
        await app.start("sleeper")


async def test_a_tenant_with_too_many_waits_starts_no_more() -> None:
    async with app_with(waits=1) as app:
        await app.deploy(SLEEPER)
        await app.start("sleeper")
        await at_rest(app)
        with pytest.raises(QuotaExceeded, match="quota `waits`"):
            await app.start("sleeper")


async def test_a_tenant_has_so_many_events() -> None:
    async with app_with(events=2) as app:
        for number in range(2):
            await app.publish("told", number)
        with pytest.raises(QuotaExceeded, match="quota `events`"):
            await app.publish("told", 3)
        await of(app, "other").publish("told", 1)


async def test_a_tenant_has_so_many_bytes_and_what_is_erased_makes_room() -> None:
    settings = Settings(
        quotas=Quotas(bytes=100_000), bounds=Bounds(weigh_again=0.01, weighed_rows=2)
    )
    async with Tenuto(settings=settings) as app:
        await app.deploy(numbered("one"))
        started = [await app.start("one", "x" * 30_000) for _ in range(3)]
        for each in started:
            await each.result(timeout=20)
        await app.publish("large.came", "x" * 20_000)
        for refused in (
            app.start("one"),
            app.publish("small.came"),
            app.deploy(numbered("two")),
        ):
            with pytest.raises(QuotaExceeded, match="quota `bytes`"):
                await refused
        await of(app, "other").deploy(numbered("one"))
        await of(app, "other").start("one", "x" * 30_000)
        assert app.engine.usage.shown().keys() == {("bytes", "default")}
        await app.engine.store.instances.erase("default", [started[0].id])
        has_room = False
        while not has_room:
            with suppress(QuotaExceeded):
                has_room = bool(await app.start("one"))


def schedule(id: str, size: int) -> Object:
    """A schedule with an input of so many bytes."""
    target: Object = {"workflowId": "one"}
    return {"id": id, "cron": "0 0 1 1 *", "target": target, "input": {"text": "x" * size}}


def query(id: str, size: int) -> Object:
    """A data query with a statement of about so many bytes."""
    return {"id": id, "dataSourceId": "shop", "sql": f"SELECT '{'x' * size}'"}


Save = Callable[[Tenuto, str, int], Coroutine[Any, Any, object]]
DOCUMENTS: dict[str, tuple[str, Save]] = {
    "schedule_bytes": ("schedules", lambda app, id, size: app.schedules.save(schedule(id, size))),
    "data_query_bytes": (
        "data_queries",
        lambda app, id, size: app.data_queries.save(query(id, size)),
    ),
}


@asynccontextmanager
async def bounded(quota: str) -> AsyncIterator[Tenuto]:
    """An app with a workflow and a data source, where a tenant has 5,000 bytes of documents."""
    async with app_with(**{quota: 5_000}) as app:
        await app.deploy(numbered("one"))
        await app.data_sources.save({"id": "shop", "kind": "sqlite", "file": "shop.db"})
        yield app


@pytest.mark.parametrize("quota", DOCUMENTS)
async def test_a_tenant_has_so_many_bytes_of_documents_and_what_is_removed_makes_room(
    quota: str,
) -> None:
    name, save = DOCUMENTS[quota]
    async with bounded(quota) as app:
        await save(app, "one", 4_000)
        with pytest.raises(QuotaExceeded, match=f"quota `{quota}`") as refused:
            await save(app, "two", 2_000)
        assert 4_000 < refused.value.used < 5_000
        with pytest.raises(QuotaExceeded):
            await save(app, "one", 9_000)
        page = (await Metrics(app.engine).page("default")).decode()
        assert f'tenuto_quota_used{{quota="{quota}"}} {float(refused.value.used)}' in page
        assert f'tenuto_quota_limit{{quota="{quota}"}} 5000.0' in page
        await save(app, "one", 1_000)
        await save(app, "two", 2_000)
        await getattr(app, name).remove("one")
        await save(app, "three", 2_000)
        with pytest.raises(QuotaExceeded):
            await save(app, "four", 2_000)


@pytest.mark.parametrize("quota", DOCUMENTS)
async def test_bytes_of_documents_are_counted_when_many_are_saved_at_once(quota: str) -> None:
    _, save = DOCUMENTS[quota]
    async with bounded(quota) as app:
        made = await gather(
            *(save(app, f"d{number}", 2_000) for number in range(10)), return_exceptions=True
        )
        assert sum(isinstance(each, QuotaExceeded) for each in made) == 8


async def test_a_tenant_has_so_many_bytes_of_bulk_operations() -> None:
    async with app_with(bulk_bytes=3_000) as app:
        which = InstanceFilter(ids=tuple(f"{number:026}" for number in range(80)))
        first = await app.bulk.start("cancel", which, key="first")
        with pytest.raises(QuotaExceeded, match="quota `bulk_bytes`"):
            await app.bulk.start("cancel", which)
        again = await app.bulk.start("cancel", which, key="first")
        assert again.id == first.id
        await of(app, "other").bulk.start("cancel", which)


async def test_lines_of_tasks_count_as_bytes() -> None:
    async with Tenuto(settings=Settings(quotas=Quotas(bytes=100_000))) as app:
        await app.deploy(numbered("one"))
        id = (await app.start("one")).id
        line = LogLine(at=datetime(2026, 1, 1, tzinfo=UTC), text="x" * 2_000)
        for attempt in (1, 2):
            chunk = LogChunk(lines=(line,) * 30)
            app.engine.effects.task_logs.keep((id, "a", "", attempt), chunk)
        await app.engine.effects.task_logs.written()
        with pytest.raises(QuotaExceeded, match="quota `bytes`"):
            await app.start("one")
