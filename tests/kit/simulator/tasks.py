"""Tasks that do what a table says, and write down every call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tenuto.built_in.protocol import Call, Executors
from tenuto.model.errors import TaskError
from tenuto.model.graph import DataQuery, Http, JavaScript
from tenuto.model.json import JSON
from tenuto.model.task_definition import TaskLimits
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.output import Result
from tenuto.tasks.registry import Registry
from tenuto.testing.virtual_clock import VirtualClock
from tests.kit.simulator.ledgers import Ledgers, iteration_of
from tests.kit.workload import TASKS, Behaviour, Behaviours, behaviour_of


class ScriptedTasks:
    """The tasks of one process; what they do depends on the instance, the node and the try."""

    queues = False
    calls_of_tenant = None

    def __init__(
        self, clock: VirtualClock, ledgers: Ledgers, behaviours_of: Callable[[str], Behaviours]
    ) -> None:
        self._clock = clock
        self._ledgers = ledgers
        self._behaviours_of = behaviours_of

    def registry(self, names: Sequence[str] = TASKS, limits: TaskLimits | None = None) -> Registry:
        registry = Registry()
        for name in (*names, "undo"):
            registry.add(TaskFunction(self._run, name=name, limits=limits))
        return registry

    def executors(self) -> Executors:
        """The same for steps whose work the engine does itself."""
        return {JavaScript: self, Http: self, DataQuery: self}

    async def run(self, call: Call) -> JSON:
        done = await self._run(
            Context(
                instance_id=call.instance_id,
                step_id=call.step_id,
                attempt=call.attempt,
                idempotency_key=call.idempotency_key,
            )
        )
        output: JSON = done.output
        return output

    async def close(self) -> None: ...

    async def _run(self, ctx: Context) -> Result:
        instance, node = ctx.instance_id, ctx.step_id
        iteration = iteration_of(ctx.idempotency_key, instance, node)
        tried = self._ledgers.tries(instance, node, iteration)
        effect = self._ledgers.call(ctx.idempotency_key, instance, node, ctx.attempt)
        behaviour = behaviour_of(self._behaviours_of(instance), node, tried, iteration)
        try:
            await self._spend(behaviour)
        except asyncio.CancelledError:
            self._ledgers.ended(effect, "cancelled")
            raise
        if behaviour.does == "fail":
            self._ledgers.ended(effect, "failed")
            raise TaskError(behaviour.code, "as planned", retryable=behaviour.retryable)
        self._ledgers.ended(effect, "completed")
        effect["output"] = behaviour.value
        return Result(behaviour.value, handle=behaviour.handle, delay=behaviour.delay_ms or None)

    async def _spend(self, behaviour: Behaviour) -> None:
        end = self._clock.ticks() + behaviour.takes_ms / 1000
        while (left := end - self._clock.ticks()) > 0:
            try:
                await self._clock.sleep(left)
            except asyncio.CancelledError:
                if behaviour.obeys:
                    raise
