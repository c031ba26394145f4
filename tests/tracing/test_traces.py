"""A trace goes from the request that starts an instance through its tasks, also after restarts."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import timedelta

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tenuto import Context, TaskError, Tenuto
from tenuto.engine.settings import Settings
from tenuto.executions.broker import TaskBroker
from tenuto.model.ids import NodeKey
from tenuto.model.json import Object
from tenuto.model.traces import of_attempt, read_traceparent
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.tasks.registry import Registry
from tenuto.tracing.spans import Spans
from tenuto.worker.held_task import HeldTask
from tenuto.workspace.values import Start
from tests.api.conftest import served

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GIVEN = f"00-{TRACE}-00f067aa0ba902b7-01"
FLOW: Object = {
    "id": "flow",
    "steps": [
        {"stepId": "one", "type": "TASK", "taskId": "note", "transitions": {"default": "two"}},
        {"stepId": "two", "type": "TASK", "taskId": "fail"},
    ],
}


def noting(seen: list[str | None]) -> Registry:
    registry = Registry()

    @registry.task
    async def note(ctx: Context, input: object) -> None:
        seen.append(ctx.traceparent)

    @registry.task
    async def fail(ctx: Context, input: object) -> None:
        seen.append(ctx.traceparent)
        raise TaskError("NO", "no", retryable=False)

    return registry


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        (GIVEN, True),
        (f" {GIVEN} ", True),
        (GIVEN.upper(), False),
        (f"01{GIVEN[2:]}", False),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (f"{GIVEN}\r\nx: y", False),
        ("", False),
        (None, False),
    ],
)
def test_only_a_good_traceparent_is_taken(text: str | None, is_good: bool) -> None:
    assert (read_traceparent(text) is not None) is is_good


def test_each_attempt_has_a_place_of_its_own_in_the_same_trace() -> None:
    places = {
        of_attempt(GIVEN, id, NodeKey(node, ""), attempt)
        for id in ("i1", "i2")
        for node in ("a", "b")
        for attempt in (1, 2)
    }
    assert len(places) == 8
    assert all(read_traceparent(each) == each for each in places)
    assert {each.split("-")[1] for each in places} == {TRACE}


@pytest.mark.asyncio
async def test_requests_and_attempts_are_spans_of_one_trace() -> None:
    seen: list[str | None] = []
    exporter = InMemorySpanExporter()
    app = Tenuto(tasks=noting(seen), settings=Settings(unknown_tasks="wait"))
    async with served(app=app) as caller:
        spans = Spans(SimpleSpanProcessor(exporter), app.engine.clock)
        caller.pipeline.service.spans = spans
        app.engine.listen(spans.heard)
        app.engine.turns.meter.watch = spans.turn
        await caller.post("/workflows", FLOW)
        headers = {"traceparent": GIVEN}
        await caller("POST", "/workflows/flow/start?wait=30", {"input": {}}, headers=headers)
        spans.close()
    found = {each.name: each for each in exporter.get_finished_spans()}
    request, one, two = found["start_workflow"], found["one"], found["two"]
    assert request.parent is not None
    assert f"{request.parent.span_id:016x}" == "00f067aa0ba902b7"
    assert request.attributes == {"http.response.status_code": 201}
    for attempt in (one, two):
        assert attempt.parent is not None
        assert attempt.parent.span_id == request.context.span_id
        assert f"{attempt.context.trace_id:032x}" == TRACE
    shown = [f"00-{TRACE}-{each.context.span_id:016x}-01" for each in (one, two)]
    assert seen == shown, "what a task passes on is a child of its own span"
    assert one.status.is_unset
    assert not two.status.is_ok
    assert found["turn"].attributes is not None


@pytest.mark.asyncio
async def test_a_trace_needs_no_opentelemetry_and_survives_a_restart() -> None:
    disk, seen = MemoryDisk(), list[str | None]()
    waiting = Settings(unknown_tasks="wait")
    async with Tenuto(MemoryStore(disk), settings=waiting, tasks=Registry()) as app:
        await app.deploy(FLOW)
        begun = await app.workspace("default", "me").starting.begin(
            Start(workflow="flow", key="k", traceparent=GIVEN)
        )
        id = begun.instance_id
    async with Tenuto(MemoryStore(disk), settings=waiting, tasks=noting(seen)) as app:
        async with asyncio.timeout(30):
            await app.engine.final_state(id)
        again = await app.workspace("default", "me").starting.begin(Start(workflow="flow", key="k"))
        assert again.instance_id == id, "a trace is no part of what makes two starts the same"
    assert seen == [of_attempt(GIVEN, id, NodeKey(step, ""), 1) for step in ("one", "two")]


def test_opentelemetry_is_not_loaded_unless_it_is_asked_for() -> None:
    code = (
        "import sys, tenuto.cli.program, tenuto.cli.service; tenuto.cli.program.program(); "
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.asyncio
async def test_workers_are_told_where_in_the_trace_their_task_is() -> None:
    async with Tenuto(settings=Settings(unknown_tasks="wait"), tasks=Registry()) as app:
        await app.deploy(FLOW)
        begun = await app.workspace("default", "me").starting.begin(
            Start(workflow="flow", traceparent=GIVEN)
        )
        [task] = await TaskBroker(app.engine).claim("default", "worker")
        own = of_attempt(GIVEN, begun.instance_id, NodeKey("one", ""), 1)
        assert task.context.traceparent == own
        assert HeldTask(task, timedelta(seconds=30), 0.0).facts.traceparent == own


@pytest.mark.asyncio
async def test_a_child_goes_on_in_the_trace_of_the_step_that_started_it() -> None:
    seen: list[str | None] = []
    call: Object = {"stepId": "call", "type": "SUB_WORKFLOW", "workflowId": "inner"}
    inner: Object = {"stepId": "one", "type": "TASK", "taskId": "note"}
    async with Tenuto(tasks=noting(seen)) as app:
        await app.deploy({"id": "inner", "steps": [inner]})
        await app.deploy({"id": "outer", "steps": [call]})
        begun = await app.workspace("default", "me").starting.begin(
            Start(workflow="outer", traceparent=GIVEN)
        )
        async with asyncio.timeout(30):
            await app.engine.final_state(begun.instance_id)
        [child] = await app.instances(workflow="inner")
    parent = of_attempt(GIVEN, begun.instance_id, NodeKey("call", ""), 1)
    assert seen == [of_attempt(parent, child.id, NodeKey("one", ""), 1)]
