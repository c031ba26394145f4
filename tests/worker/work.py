"""An engine, and a worker that pulls from it, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tenuto.engine.engine import Engine
from tenuto.model.json import Object
from tenuto.model.policy import Limits
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tenuto.worker import Worker
from tests.executions.stage import Stage
from tests.kit.workload.drawing import document, node
from tests.worker.local_broker import LocalBroker

Body = Callable[[Context], Awaitable[object]]


def registry_of(**bodies: Body) -> Registry:
    registry = Registry()
    for name, body in bodies.items():
        registry.add(TaskFunction(_with_context(body), name=name))
    return registry


def _with_context(body: Body) -> Callable[..., Any]:
    async def run(ctx: Context) -> object:
        return await body(ctx)

    return run


def flow(**settings: object) -> Object:
    return document("one", [node("a", "task", taskId="ship", **settings)], [])


class Work:
    """An engine, a broker and one worker."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.running: asyncio.Task[None] | None = None

    async def begin(
        self,
        registry: Registry,
        *,
        grace: float = 10.0,
        limits: Limits | None = None,
        **settings: Any,  # noqa: ANN401 - as given
    ) -> Work:
        self.engine, broker = await self.stage.opened(limits=limits)
        self.broker = LocalBroker(broker)
        self.worker = Worker(
            self.broker, registry, worker_id="w1", clock=self.stage.clock, **settings
        )
        self.running = asyncio.create_task(self.worker.run(grace))
        return self

    async def end(self) -> None:
        assert self.running is not None
        self.worker.stop()
        await self.running


async def status(engine: Engine, id: str) -> str:
    return (await engine.final_state(id)).state.status.value
