"""The tasks of a test: each call is recorded, and a stub replaces the task if there is one.

Every task runs in the test's own thread and process, however it is declared, so that the order
of calls is the same each time, breakpoints work, and patched names are seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Literal, Never

from tenuto.model.errors import TenutoError
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import DEFAULT_REGISTRY, Registry
from tenuto.testing.built_in_mocks import BUILT_IN_TASKS, BuiltInMocks
from tenuto.testing.calls import Call
from tenuto.testing.stubs import Stub, called
from tenuto.testing.virtual_loop import VirtualLoop

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""

Named = str | Callable[..., object]
"""A task, or its name."""
When = Literal["before", "after"]


class TaskMocks(Registry):
    """A registry in which every task is watched."""

    def __init__(self, behind: Registry | None = None) -> None:
        super().__init__(behind=DEFAULT_REGISTRY if behind is None else behind)
        self.calls: list[Call] = []
        self.gate: Callable[[Call], Awaitable[None]] | None = None
        """Holds results back, so that a test can choose their order."""
        self.now: Callable[[], datetime]
        self._stubs: dict[str, Stub] = {}
        self._watched: dict[str, tuple[TaskFunction[..., Any], TaskFunction[..., Any]]] = {}
        self._crash: tuple[str, When] | None = None
        self.built_in = BuiltInMocks(self)
        """Does the work of javascript, http and dataQuery steps."""

    def get(self, name: str) -> TaskFunction[..., Any] | None:
        real = super().get(name)
        if real is None:
            return None
        known = self._watched.get(name)
        if known is None or known[0] is not real:
            known = self._watched[name] = (real, self._watch(real))
        return known[1]

    def twin(self) -> TaskMocks:
        """The same tasks and stubs, without recorded calls."""
        twin = TaskMocks(behind=self._behind)
        for task in self._tasks.values():
            twin.add(task)
        twin._stubs.update({name: stub.again() for name, stub in self._stubs.items()})
        twin.built_in.stubs.update(
            {name: stub.again() for name, stub in self.built_in.stubs.items()}
        )
        return twin

    def stub(self, task: Named, outcomes: tuple[object, ...], takes: timedelta) -> None:
        name = self.name_of(task)
        real = super().get(name)
        self._stubs[name] = Stub(outcomes, takes, undoes=None if real is None else real.undoes)

    def crash_in(self, task: Named, when: When) -> None:
        """Let the process die the next time that this task runs."""
        self._crash = (self.name_of(task), when)

    @property
    def crash_ahead(self) -> str | None:
        """The planned crash that has not happened yet."""
        return None if self._crash is None else f"{self._crash[1]} {self._crash[0]}"

    def lose_running(self) -> None:
        """Mark running calls as lost: their process is gone."""
        for call in self.calls:
            if call.outcome == "running":
                call.outcome = "lost"

    def name_of(self, task: Named) -> str:
        """The name of a task that exists."""
        if isinstance(task, TaskFunction):
            if super().get(task.name) is None:
                self.add(task)
            return task.name
        name = task if isinstance(task, str) else getattr(task, "__name__", repr(task))
        if isinstance(task, str) and task in BUILT_IN_TASKS:
            return task
        if not isinstance(task, str) or name not in self:
            near = self.nearest(name)
            hint = f"Did you mean {' or '.join(near)}?" if near else "Put @task above its function."
            raise TenutoError(
                f"no task is called {name!r}"
                if isinstance(task, str)
                else f"{name} is not a task: it has no @task above it",
                code="TEN-2201",
                advice=hint,
            )
        return name

    def _watch(self, real: TaskFunction[..., Any]) -> TaskFunction[..., Any]:
        async def watched(ctx: Context, given: Any = None) -> object:  # noqa: ANN401 - any JSON
            return await self._run(real, ctx, given)

        return TaskFunction(
            watched,
            name=real.name,
            retry=real.policy.retry,
            timeout=real.timeout,
            heartbeat_timeout=real.heartbeat_timeout,
            undoes=real.undoes,
            stands_for=real,
        )

    async def _run(self, real: TaskFunction[..., Any], ctx: Context, given: Any) -> object:  # noqa: ANN401
        call = Call(
            task=real.name,
            instance_id=ctx.instance_id,
            step=ctx.step_id,
            attempt=ctx.attempt,
            key=ctx.idempotency_key,
            input=given,
            at=self.now(),
        )
        stub = self._stubs.get(real.name)
        return await self.watch(
            call, lambda: stub.play(ctx, given) if stub else called(real, ctx, given)
        )

    async def watch(self, call: Call, work: Callable[[], Awaitable[object]]) -> object:
        """What `work` gives, which is the work of a call; it is recorded, and may crash."""
        self.calls.append(call)
        if self._crash == (call.task, "before"):
            await self._die()
        try:
            value = await work()
        except GeneratorExit:
            raise
        except BaseException:
            call.outcome = "failed"
            await self._after(call)
            raise
        await self._after(call)
        call.outcome = "done"
        return value

    async def _after(self, call: Call) -> None:
        if self._crash == (call.task, "after"):
            await self._die()
        if self.gate is not None:
            await self.gate(call)

    async def _die(self) -> Never:
        assert self._crash is not None
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        task, when = self._crash
        self._crash = None
        loop.crash(f"{when} task {task} ran")
        await loop.create_future()
        raise AssertionError("a crashed process does not continue")
