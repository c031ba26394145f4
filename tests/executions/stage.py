"""An engine with a broker for workers outside, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from random import Random
from typing import Any

from msgspec import UNSET

from tenuto.engine.engine import Engine
from tenuto.engine.settings import Settings
from tenuto.executions.broker import TaskBroker
from tenuto.model.errors import TenutoError
from tenuto.model.executions import ClaimedTask, ReportedError, TaskReport
from tenuto.model.inputs import CancelAsked, Started
from tenuto.model.json import JSON, Object
from tenuto.model.policy import Limits
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.protocol import Store
from tenuto.tasks.registry import Registry
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.workload.drawing import document, edge, node

LEASE = timedelta(seconds=30)
A_WHILE = timedelta(seconds=20)

FLOW = document(
    "w", [node("a", "task", taskId="ship"), node("b", "task", taskId="bill")], [edge("a", "b")]
)


class Stage:
    """Engines on one disk, and workers that claim from their desks."""

    def __init__(self) -> None:
        self.loop = VirtualLoop(Random(1))
        self.clock = VirtualClock(self.loop, Wall())
        self.disk = MemoryDisk()
        self.ids = SeededIds(Random(1))

    async def opened(
        self,
        *,
        shared: bool = False,
        store: Store | None = None,
        registry: Registry | None = None,
        limits: Limits | None = None,
    ) -> tuple[Engine, TaskBroker]:
        engine = Engine(
            store or MemoryStore(self.disk, shared=shared),
            registry=registry or Registry(),
            clock=self.clock,
            ids=self.ids,
            settings=Settings(unknown_tasks="wait", limits=limits or Limits()),
        )
        await engine.open()
        return engine, TaskBroker(engine)

    async def started(
        self,
        engine: Engine,
        flow: Object = FLOW,
        input: JSON = None,
        tenant: str = "default",
        traceparent: str | None = None,
    ) -> str:
        deployed = await engine.plans.save(tenant, flow)
        begun = Started(
            definition_id=deployed.plan.definition.id,
            definition_version=deployed.version,
            input={} if input is None else input,
            correlation_id="c1",
            traceparent=UNSET if traceparent is None else traceparent,
        )
        return (await engine.start(deployed.plan, begun, tenant=tenant)).instance_id

    async def log(self, engine: Engine, instance_id: str) -> list[tuple[str, str | None, int]]:
        rows = await engine.store.instances.entries(instance_id)
        return [(row.event_type, row.node_id, row.attempt) for row in rows]

    async def lines_of(self, engine: Engine, instance_id: str, node: str) -> list[str]:
        return [kind for kind, of, _ in await self.log(engine, instance_id) if of == node]

    def play(self, story: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
        try:
            self.loop.run_until_complete(story(self))
        finally:
            self.loop.discard_tasks()


def done(task: ClaimedTask, output: JSON = None, handle: str | None = None) -> TaskReport:
    return TaskReport(
        execution_id=task.execution_id,
        lease_token=task.lease_token,
        output=output,
        next_handle=handle,
    )


def failed(task: ClaimedTask, code: str, *, retryable: bool = True) -> TaskReport:
    return TaskReport(
        execution_id=task.execution_id,
        lease_token=task.lease_token,
        error=ReportedError(code=code, message="as planned", retryable=retryable),
    )


async def report(broker: TaskBroker, *reports: TaskReport) -> list[TenutoError | None]:
    return [each.error for each in await broker.report("default", reports)]


async def cancel(engine: Engine, instance_id: str) -> None:
    await engine.ask(instance_id, CancelAsked(by="me", reason="enough", source="API"))
